"""HTTP with sandboxes that are not trusted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tandem_fleet.sandbox_http import sandbox_http, says_ready

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def answering(head: str, piece: bytes = b"") -> AsyncIterator[tuple[str, list[str]]]:
    """A sandbox that answers so, and then sends a piece again and again; gives its address, and what it is asked."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(head.replace("\n", "\r\n").encode())
        try:
            while piece:
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


async def test_a_cookie_of_one_reaches_no_other() -> None:
    head = "HTTP/1.1 200 OK\nSet-Cookie: a=b; Path=/\nContent-Length: 0\nConnection: close\n\n"
    async with answering(head) as (one, _), answering(head) as (other, asked), sandbox_http(timeout=30) as http:
        for address in (one, other, other):
            assert (await http.get(address)).status_code == 200
        assert not [text for text in asked if "cookie:" in text]


@pytest.mark.parametrize(("status", "ready"), [("200 OK", True), ("503 Service Unavailable", False)])
async def test_an_answer_without_an_end_is_not_read(status: str, ready: bool) -> None:
    head = f"HTTP/1.1 {status}\nContent-Type: text/plain\n\n"
    async with answering(head, b"x" * 65536) as (address, _), sandbox_http(timeout=30) as http, asyncio.timeout(30):
        assert await says_ready(http, address, 20) is ready


async def test_one_that_never_answers_is_not_ready() -> None:
    async with answering("", b"") as (address, _), sandbox_http(timeout=30) as http:
        assert not await says_ready(http, address, 1)
