"""The server: an address, and the application behind it until somebody ends it."""

import errno
import ipaddress
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import uvicorn

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import reason
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.serve.application import application
from optimizer.serve.http.connection import PromptProtocol
from optimizer.serve.http.safety import Admission
from optimizer.serve.jobs.service import JobService, ServiceLimits

MIN_TOKEN: Final = 16
"""Characters of a token: nobody tries as many."""
MAX_CONNECTIONS: Final = 256
GRACE_S: Final = 3
"""What open requests have left when the server ends."""


@dataclass(frozen=True)
class Address:
    """Where to listen; port 0 is any that is free."""

    host: str
    port: int


def serve(address: Address, admission: Admission, limits: ServiceLimits, catalogs: Path | None = None) -> None:
    """Serves until it is interrupted.

    Args:
        address: Where to listen.
        admission: Who may ask; the host listened on is one of the names.
        limits: How much is done and kept at once.
        catalogs: A folder of catalog files laid over the shipped ones.

    Raises:
        InputError: the catalogs cannot be read, the address cannot be had, or others could ask without a token.
    """
    _check(address, admission)
    service = JobService(load_catalogs(catalogs), limits)
    listening = _listening(address)
    host, port = listening.getsockname()[:2]
    names = replace(admission, hosts=admission.hosts | {address.host.lower()})
    config = uvicorn.Config(
        application(service, names),
        http=PromptProtocol,
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_S,
    )
    sys.stderr.write(f"optimizer answers on http://{f'[{host}]' if ':' in host else host}:{port} until Ctrl-C\n")
    uvicorn.Server(config).run(sockets=[listening])


def _check(address: Address, admission: Admission) -> None:
    """Refuses to be asked by others without a token that nobody guesses.

    Raises:
        InputError: it would be.
    """
    if admission.token and len(admission.token) < MIN_TOKEN:
        hint = "for instance: python -c 'import secrets; print(secrets.token_urlsafe())'"
        raise InputError([Finding("serve", 0, "--token", f"has fewer than {MIN_TOKEN} characters", hint)])
    if not (admission.token.isascii() and admission.token.isprintable()) or " " in admission.token:
        raise InputError([Finding("serve", 0, "--token", "holds what no header carries", "letters, digits and signs")])
    if not admission.token and not _is_this_machine(address.host):
        problem = f"{address.host} can be reached from other machines"
        hint = "give a --token (or OPTIMIZER_TOKEN) that clients must show, or leave out --host"
        raise InputError([Finding("serve", 0, "--host", problem, hint)])


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        problem = f"{address.host}:{address.port} cannot be had: {reason(error)}"
        is_of_port = error.errno in {errno.EADDRINUSE, errno.EACCES}
        option, hint = (
            ("--port", "0 takes any that is free") if is_of_port else ("--host", "an address of this machine")
        )
        raise InputError([Finding("serve", 0, option, problem, hint)]) from error
