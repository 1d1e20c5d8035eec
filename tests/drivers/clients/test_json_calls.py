"""Calls with JSON, and WebSockets, of services that may answer anything."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from sandbox_server.core import Unavailable
from sandbox_server.drivers.clients import json_calls as module
from sandbox_server.drivers.clients.json_calls import SocketClosed, call_json, field, open_socket

pytestmark = pytest.mark.anyio


async def answering(answer: bytes) -> asyncio.Server:
    """A server that gives one answer, whatever it is asked."""

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answered, "127.0.0.1", 0)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n" + b"[" * 5000,
        b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n" + b" " * 9000,
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n1",
        b"nothing of the kind\r\n\r\n",
        b"",
    ],
)
async def test_what_is_no_json_of_a_bearable_size_is_a_reason_without_the_address(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER", 8000)
    server = await answering(answer)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable, match="Chat did not answer") as failed:
            await call_json("Chat", "GET", f"http://127.0.0.1:{port}/s3cret", {})
    assert "s3cret" not in failed.value.message


async def test_a_redirect_is_not_followed() -> None:
    server = await answering(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n")
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert (await call_json("Chat", "GET", f"http://127.0.0.1:{port}/", {})).status == 302


async def test_a_service_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable):
            await call_json("Chat", "GET", f"http://127.0.0.1:{port}/", {})
        with pytest.raises(Unavailable):
            await call_json("Chat", "GET", f"http://127.0.0.1:{port}/", {}, seconds=0.1)


@pytest.fixture
async def socket_url() -> AsyncIterator[str]:
    """A WebSocket that says something else each time, and closes."""

    async def talk(connection: ServerConnection) -> None:
        for message in ("no json", "[1]", '{"type": "hello"}'):
            await connection.send(message)
        await connection.recv()
        await connection.close(4004, "s3cret")

    async with serve(talk, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/?ticket=s3cret"


async def test_what_is_no_object_is_an_empty_one_and_a_close_has_its_code(socket_url: str) -> None:
    async with open_socket("Chat", socket_url, plain=True) as socket:
        assert [await socket.receive() for _ in range(3)] == [{}, {}, {"type": "hello"}]
        await socket.send({})
        with pytest.raises(SocketClosed) as closed:
            await socket.receive()
        with pytest.raises(SocketClosed):
            await socket.send({})
    assert closed.value.details["code"] == 4004
    assert "s3cret" not in closed.value.message


async def test_a_message_that_is_too_long_ends_the_connection(monkeypatch: pytest.MonkeyPatch, socket_url: str) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER", 3)
    async with open_socket("Chat", socket_url, plain=True) as socket:
        with pytest.raises(SocketClosed):
            await socket.receive()


@pytest.mark.parametrize("url", ["ws://127.0.0.1:9/", "http://127.0.0.1/", "file:///etc/passwd", ""])
async def test_an_address_without_tls_is_not_connected_to(url: str) -> None:
    with pytest.raises(Unavailable, match="not a secure WebSocket"):
        async with open_socket("Chat", url, plain=False):
            pass


@pytest.mark.parametrize("url", ["ws://127.0.0.1:9/s3cret", "ws://[::", "wss://nowhere.invalid/s3cret"])
async def test_what_cannot_be_connected_to_is_a_reason_without_the_address(url: str) -> None:
    with pytest.raises(Unavailable, match="Chat is not connected") as failed:
        async with open_socket("Chat", url, plain=True):
            pass
    assert "s3cret" not in failed.value.message


@pytest.mark.parametrize(("value", "found"), [({"a": {"b": 1}}, 1), ({"a": [1]}, None), ([], None), (None, None)])
def test_a_field_of_anything_is_its_value_or_none(value: Any, found: object) -> None:
    assert field(value, "a", "b") == found
