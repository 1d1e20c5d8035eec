"""Servers over HTTP that do their worst, on a real socket: each call ends in time, with a reason."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from pydantic import HttpUrl

from sandbox_server.core import Failure
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.mcp import message_limits
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.servers import http_transport, lifecycle
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import connector
from sandbox_server.mcp.servers.upstream import UpstreamServer

pytestmark = pytest.mark.anyio

type Reply = Callable[[asyncio.StreamWriter, dict[str, Any]], Awaitable[None]]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


class Site:
    """An HTTP server that answers calls of tools as a test likes, and one request with each connection."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.seen: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.seen.append(head)
        length = next((int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:")), 0)
        asked = json.loads(await reader.readexactly(length) or b"{}")
        try:
            if asked.get("method") == "initialize":
                body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": HELLO}).encode()
                writer.write(_head(body, "mcp-session-id: s\r\n") + body)
            elif asked.get("method") == "tools/call" or head.startswith("GET"):
                await self.reply(writer, asked)
            else:
                writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


def _head(body: bytes, more: str = "") -> bytes:
    kind = "content-type: application/json\r\nconnection: close\r\n"
    return f"HTTP/1.1 200 OK\r\n{kind}{more}content-length: {len(body)}\r\n\r\n".encode()


@asynccontextmanager
async def site(reply: Reply) -> AsyncIterator[Site]:
    made = Site(reply)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@asynccontextmanager
async def behind(reply: Reply) -> AsyncIterator[tuple[UpstreamServer, Site]]:
    async with site(reply) as made:
        url = HttpUrl(f"http://127.0.0.1:{made.port}/mcp")
        upstream = UpstreamServer("remote", ServerConfig(url=url), connector(Processes("/nowhere"), "1"), 0)
        try:
            yield upstream, made
        finally:
            await upstream.close()


async def refused(reply: Reply) -> str:
    """Why a call is refused."""
    async with behind(reply) as (upstream, _), asyncio.timeout(30):
        with pytest.raises((MCPError, Failure)) as failure:
            await upstream.call("x", {}, PlainHttpClient())
        return str(failure.value)


def call_only(reply: Reply) -> Reply:
    """Answer calls so, and have nothing to say to who listens."""

    async def answered(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        if asked:
            await reply(writer, asked)
        else:
            writer.write(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")

    return answered


async def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_limits, "MAX_MESSAGE", 100_000)

    async def endless(writer: asyncio.StreamWriter, _: dict[str, Any]) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        while True:
            writer.write(b" " * 10_000)
            await writer.drain()

    assert "more than 100000 bytes" in await refused(call_only(endless))


async def test_an_event_without_end_is_cut_off() -> None:
    async def endless(writer: asyncio.StreamWriter, _: dict[str, Any]) -> None:
        writer.write(EVENTS)
        while True:
            writer.write(b"data: " + b"x" * 10_000)
            await writer.drain()

    assert "SSE" in await refused(call_only(endless))


async def test_an_answer_that_is_nested_too_deep_is_an_error_of_that_call() -> None:
    async def deep(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        body = f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{"[" * 100_000}{"]" * 100_000}}}'.encode()
        writer.write(_head(body) + body)

    assert "recursion limit" in await refused(call_only(deep))


async def test_a_compressed_answer_is_not_unpacked() -> None:
    async def bomb(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        body = gzip.compress(b" " * (1 << 20))
        writer.write(_head(body, "content-encoding: gzip\r\n") + body)

    async with behind(call_only(bomb)) as (upstream, made), asyncio.timeout(30):
        with pytest.raises((MCPError, Failure)):
            await upstream.call("x", {}, PlainHttpClient())
    assert all("accept-encoding: identity" in head.lower() for head in made.seen)


async def test_a_redirect_leads_nowhere_else() -> None:
    """Such as to what listens on the control side's loopback, with the headers that were meant for the server."""

    async def innocent(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        writer.write(_head(b"{}") + b"{}")

    async with site(innocent) as other:

        async def elsewhere(writer: asyncio.StreamWriter, _: dict[str, Any]) -> None:
            writer.write(f"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:{other.port}/v1/shell/exec\r\ncontent-length: 0\r\n\r\n".encode())

        assert "not followed" in await refused(call_only(elsewhere))
    assert other.seen == []


async def test_a_stream_that_hangs_up_and_asks_for_no_pause_is_opened_once_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "LISTEN_PAUSE", 0.2)

    async def hasty(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        if asked:
            await asyncio.sleep(1)
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}}).encode()
            writer.write(_head(body) + body)
        else:
            writer.write(EVENTS + b"retry: 0\nid: 1\ndata: \n\n")

    async with behind(hasty) as (upstream, made), asyncio.timeout(30):
        began = time.monotonic()
        await upstream.call("x", {}, PlainHttpClient())
        listened = sum(head.startswith("GET") for head in made.seen)
        assert listened <= (time.monotonic() - began) / 0.2 + 2


async def test_a_server_that_says_nothing_at_first_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "START_SECONDS", 0.3)

    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    url = HttpUrl(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
    upstream = UpstreamServer("remote", ServerConfig(url=url), connector(Processes("/nowhere"), "1"), 0)
    async with asyncio.timeout(20):
        with pytest.raises(Failure, match="did not answer within"):
            await upstream.tools()
    await upstream.close()
    server.close()
