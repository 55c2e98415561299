"""Whoever is slow to ask or to read is cut off, and nobody else notices."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from optimizer.serve.http import connection
from optimizer.serve.http.connection import PromptProtocol

ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    """A large answer: more than a socket keeps for a client that does not read."""
    del receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(200 if scope["path"] == "/large" else 1):
        await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
    await send({"type": "http.response.body"})


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    """The port of a server with such connections."""
    config = uvicorn.Config(answers, http=PromptProtocol, lifespan="off", log_level="critical")
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: PromptProtocol(config, state, {}), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the server ends the connection."""
    try:
        return await asyncio.wait_for(reader.read(10_000_000), 5) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHos"])
def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.1)

    async def asking() -> None:
        async with listening() as port:
            slow, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)
            quick, asker = await asyncio.open_connection("127.0.0.1", port)
            asker.write(ASKED)
            assert (await quick.readline()).startswith(b"HTTP/1.1 200")
            assert await ended(slow)
            writer.close()
            asker.close()

    asyncio.run(asking())


def test_a_second_request_is_not_waited_for_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.1)

    async def asking() -> None:
        async with listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_000_000)
            writer.write(ASKED)
            await reader.readuntil(b"0\r\n\r\n")
            writer.write(b"GET")
            assert await ended(reader)
            writer.close()

    asyncio.run(asking())


def test_what_there_is_to_tell_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, made = list[int](), PromptProtocol.connection_made

    def watched(self: PromptProtocol, transport: asyncio.Transport) -> None:
        made(self, transport)
        at_once.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(PromptProtocol, "connection_made", watched)

    async def asking() -> None:
        async with listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(ASKED)
            await reader.readline()
            writer.close()

    asyncio.run(asking())
    assert [bool(each) for each in at_once] == [True]


def test_an_answer_that_nobody_reads_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READ_S", 0.1)

    async def asking() -> None:
        async with listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_000)
            writer.write(ASKED.replace(b"/ ", b"/large "))
            await asyncio.sleep(0.5)
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(200 * 65_536)
            writer.close()

    asyncio.run(asking())
