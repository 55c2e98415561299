"""What every request passes first: who may ask and from where, how much and how slowly, and headers for browsers."""

import asyncio
import base64
import binascii
import hmac
import ipaddress
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from optimizer.serve.http.problems import RequestRefused, problem

MAX_BODY_BYTES: Final = 256 * 1024
BODY_S: Final = 10.0
"""All of a body is there by then."""
OPEN_PATHS: Final = frozenset({"/health"})
"""What is told without a token."""
CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
SIGN_IN: Final = 'Basic realm="optimizer", charset="UTF-8"'
"""Browsers ask for a name, which may be any, and a password, which is the token."""
SAFE_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Other sites are told nothing; with `no-referrer`, browsers would not even tell this one that its own page asks."""


Counter = Callable[[str, int], None]
"""Told the route and the status of each response."""


@dataclass(frozen=True)
class Admission:
    """Who may ask.

    Attributes:
        token: What a client must show; empty where none is asked for.
        hosts: Names that the server is called by, beside `localhost` and addresses in digits: no name that somebody
            else's pages have can be made to point here.
    """

    token: str = ""
    hosts: frozenset[str] = frozenset()


class Safety:
    """An application behind all of that."""

    def __init__(self, app: ASGIApp, admission: Admission, count: Counter) -> None:
        self._app, self._admission, self._count = app, admission, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = self._guarded(scope, send)
        try:
            self._check(scope)
        except RequestRefused as refused:
            signed = {"WWW-Authenticate": SIGN_IN} if refused.status is HTTPStatus.UNAUTHORIZED else None
            await problem(refused.status, refused.detail, headers=signed)(scope, receive, guarded)
            return
        try:
            await self._app(scope, _Body(receive).receive, guarded)
        except asyncio.CancelledError:
            # the server ends, and whoever waits for an answer is told so; what has begun is cut off before this
            await problem(HTTPStatus.SERVICE_UNAVAILABLE, "the server ends")(scope, receive, guarded)
        except Exception as error:  # noqa: BLE001 (our fault: the client was told so, whoever runs it is told what)
            if isinstance(error.__cause__, RequestRefused):
                # a body that was not needed came too late, or was too large, while the response was on its way
                return
            sys.stderr.write(f"error: this is a defect of optimizer: {error!r}\n")

    def _guarded(self, scope: Scope, send: Send) -> Send:
        """Sends with the headers that keep a browser from harm, and counts."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
                self._count(_route(scope), message["status"])
            await send(message)

        return sent

    def _check(self, scope: Scope) -> None:
        """Refuses what nobody should ask.

        Raises:
            RequestRefused: another host is meant, another site's page asks, the token is wrong, or it is too large.
        """
        headers = Headers(scope=scope)
        host = headers.getlist("host")
        if len(host) != 1 or not _is_ours(host[0], self._admission.hosts):
            raise RequestRefused(
                HTTPStatus.MISDIRECTED_REQUEST, "this server has no such name; --allow-host gives it one"
            )
        if scope["method"] in CHANGING and _is_from_elsewhere(headers, host[0]):
            raise RequestRefused(HTTPStatus.FORBIDDEN, "pages of other sites may not ask here")
        if self._admission.token and scope["path"] not in OPEN_PATHS:
            shown = _shown_token(headers.get("authorization", ""))
            if not hmac.compare_digest(shown.encode(), self._admission.token.encode()):
                raise RequestRefused(HTTPStatus.UNAUTHORIZED, "show the token, as Authorization: Bearer TOKEN")
        said = headers.get("content-length", "")
        if said.isdecimal() and int(said[:20]) > MAX_BODY_BYTES:
            raise _too_large()


class _Body:
    """A body as far as it may go: so many bytes, within so many seconds."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._left_bytes, self._is_whole = receive, MAX_BODY_BYTES, False
        self._due_s = asyncio.get_running_loop().time() + BODY_S

    async def receive(self) -> Message:
        """The next part of it.

        Raises:
            RequestRefused: it is too large, or too slow.
        """
        if self._is_whole:
            # what follows is the end of the connection, which may take its time
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._due_s):
                message = await self._receive()
        except TimeoutError as error:
            raise RequestRefused(HTTPStatus.REQUEST_TIMEOUT, f"the body was not there in {BODY_S:g} s") from error
        self._left_bytes -= len(message.get("body", b""))
        if self._left_bytes < 0:
            raise _too_large()
        self._is_whole = not message.get("more_body", False)
        return message


def _route(scope: Scope) -> str:
    """The path of a request without what stands for names in it; empty where there is no such path."""
    if "endpoint" not in scope:
        return ""
    steps = scope["path"].split("/")
    return "/".join(steps[: 3 if steps[1] == "v1" else 2])


def _too_large() -> RequestRefused:
    return RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {MAX_BODY_BYTES:,} bytes")


def _is_ours(host: str, names: frozenset[str]) -> bool:
    """Whether a Host header names this server."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_from_elsewhere(headers: Headers, host: str) -> bool:
    """Whether a page of another site asks; what is no browser does not say."""
    origin = headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2].lower() != host.lower()
    return headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}


def _shown_token(authorization: str) -> str:
    """The token of a header, as such or as the password of any name."""
    scheme, _, shown = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return shown.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(shown, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
