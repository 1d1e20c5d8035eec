import asyncio
from pathlib import Path

import pytest

from sandbox_server.drivers.ipc.unix_http import exchange

pytestmark = pytest.mark.anyio


async def test_one_request_is_sent_and_its_answer_read_whole(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(2))
        writer.write(b"HTTP/1.1 201 Created\r\nX-Y: z\r\n\r\n" + b"x" * 1_000_000)
        writer.close()

    async with await asyncio.start_unix_server(answer, tmp_path / "a.sock"):
        status, body = await exchange(str(tmp_path / "a.sock"), "POST", "/there?a=1", b"{}", {"X-Who": "me"})

    assert (status, len(body)) == (201, 1_000_000)
    assert seen[0].startswith(b"POST /there?a=1 HTTP/1.1\r\n")
    assert b"X-Who: me\r\n" in seen[0]
    assert seen[0].endswith(b"\r\n\r\n{}")


async def test_what_is_no_answer_is_an_error(tmp_path: Path) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_unix_server(hang_up, tmp_path / "a.sock"):
        with pytest.raises(ValueError, match="closed the connection"):
            await exchange(str(tmp_path / "a.sock"), "GET", "/", b"", {})
    with pytest.raises(FileNotFoundError):
        await exchange(str(tmp_path / "none.sock"), "GET", "/", b"", {})
