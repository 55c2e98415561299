"""A connection that waits for nobody: whoever is slow to ask or to read is cut off."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S: Final = 10.0
"""The head of a request is there by then, from the connection's beginning or the head's own."""
READ_S: Final = 30.0
"""A client that has not read what waits for it by then has gone."""


class _Deadline:
    """Something that happens unless it is stopped in time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> None:
        """From now on, or from when it was started before."""
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, action)

    def stop(self) -> None:
        """It will not happen."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class PromptProtocol(H11Protocol):
    """HTTP/1.1 with an end to each wait."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head, self._reading = _Deadline(HEAD_S), _Deadline(READ_S)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and hears at once what there is to tell: asyncio does so for its own sockets only."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head.start(self.loop, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Somebody says something: a request, or a part of one."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._head.stop()
        else:
            self._head.start(self.loop, self.transport.abort)

    def on_response_complete(self) -> None:
        """All was said; how long the next request may take to begin is uvicorn's to judge."""
        self._head.stop()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """More waits to be read than is kept."""
        self._reading.start(self.loop, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """It was read."""
        self._reading.stop()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._head.stop()
        self._reading.stop()
        super().connection_lost(exc)
