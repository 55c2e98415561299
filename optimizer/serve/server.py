"""The server: an address, and the application behind it until somebody ends it."""

import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import reason
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.serve.application import application
from optimizer.serve.jobs.service import JobService, ServiceLimits


@dataclass(frozen=True)
class Address:
    """Where it listens, and what those must say who come from elsewhere; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 8080


def serve(address: Address, limits: ServiceLimits, catalogs: Path | None = None) -> None:
    """Serves until it is interrupted.

    Raises:
        InputError: the catalogs cannot be read, or the address cannot be had.
    """
    app = application(JobService(load_catalogs(catalogs), limits))
    listening = _listening(address)
    host, port = listening.getsockname()[:2]
    sys.stderr.write(f"optimizer answers on http://{f'[{host}]' if ':' in host else host}:{port} until Ctrl-C\n")
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, ws="none")
    uvicorn.Server(config).run(sockets=[listening])


def _listening(address: Address) -> socket.socket:
    try:
        return socket.create_server(
            (address.host, address.port), family=socket.AF_INET6 if ":" in address.host else socket.AF_INET
        )
    except (OSError, OverflowError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        problem = f"{address.host}:{address.port} cannot be had: {why}"
        raise InputError(
            [Finding("serve", 0, "--port", problem, "another --port, or 0 for any that is free")]
        ) from error
