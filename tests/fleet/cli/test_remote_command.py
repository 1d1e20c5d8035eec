"""A command in a sandbox: its output and its end."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tandem_fleet.cli import remote_command
from tandem_fleet.errors import FleetError, SandboxFailedError

pytestmark = pytest.mark.anyio
Run = Callable[..., Awaitable[int]]


@asynccontextmanager
async def answering(status: int, body: bytes, seen: list[bytes]) -> AsyncIterator[str]:
    """A gateway that answers one request with what is given."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(head := await reader.readuntil(b"\r\n\r\n"))
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
        writer.write(f"HTTP/1.1 {status} said\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def event(name: str, **data: Any) -> bytes:
    """An event as the sandbox sends it."""
    return f"id: 1\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()


async def test_output_goes_where_the_command_wrote_it_and_its_code_is_ours(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    body = event("output", stream="stdout", data="out\udcff") + event("output", stream="stderr", data="err") + event("exit", exit_code=7)
    seen: list[bytes] = []
    async with answering(200, body, seen) as address:
        assert await remote_command.run(address, "token", "true", "/work") == 7
    said = capfdbinary.readouterr()
    assert (said.out, said.err) == (b"out\xff", b"err")
    assert b"authorization: bearer token" in seen[0].lower()


@pytest.mark.parametrize(("status", "code"), [("timed_out", 124), ("killed", 137), ("interrupted", 1)])
async def test_an_end_without_a_code_is_no_success(status: str, code: int) -> None:
    async with answering(200, event("exit", exit_code=None, status=status), []) as address:
        assert await remote_command.run(address, "token", "true", None) == code


async def test_an_answer_that_breaks_off_is_no_success() -> None:
    async with answering(200, event("output", stream="stdout", data=""), []) as address:
        with pytest.raises(SandboxFailedError, match="ended before"):
            await remote_command.run(address, "token", "true", None)


@pytest.mark.parametrize(("body", "said"), [(b'{"message": "no scope"}', "no scope"), (b"\xff", "\ufffd")])
async def test_a_refusal_is_said(body: bytes, said: str) -> None:
    async with answering(403, body, []) as address:
        with pytest.raises(FleetError, match=f"403: {said}"):
            await remote_command.run(address, "token", "true", None)
