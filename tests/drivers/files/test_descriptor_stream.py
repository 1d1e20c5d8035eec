import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.files.descriptor_stream import PIECE, OpenFile
from sandbox_server.drivers.files.files import Files
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def collect(file: OpenFile, start: int, stop: int) -> list[bytes]:
    return [chunk async for chunk in file.chunks(start, stop)]


async def test_a_file_is_read_in_pieces(files: Files, home: Path) -> None:
    content = os.urandom(2 * PIECE + 10)
    (home / "f").write_bytes(content)
    file = await files.access("download").open(f"{home}/f")
    pieces = await collect(file, 0, len(content))
    assert [len(piece) for piece in pieces] == [PIECE, PIECE, 10]
    assert b"".join(pieces) == content
    assert b"".join(await collect(file, 5, PIECE + 5)) == content[5 : PIECE + 5]
    file.close()


async def test_a_file_that_becomes_shorter_is_a_conflict(files: Files, home: Path) -> None:
    (home / "f").write_bytes(bytes(100))
    file = await files.access("download").open(f"{home}/f")
    os.truncate(home / "f", 10)
    with pytest.raises(Conflict):
        await collect(file, 0, 100)
    file.close()


async def test_a_file_knows_that_it_was_written_since(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"one")
    file = await files.access("download").open(f"{home}/f")
    assert not file.changed()
    (home / "f").write_bytes(b"other")
    assert file.changed()
    file.close()


async def test_a_descriptor_is_not_closed_while_a_thread_uses_it(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"x")
    file = await files.access("download").open(f"{home}/f")
    started, release = threading.Event(), threading.Event()

    def work() -> bytes:
        started.set()
        release.wait(PATIENCE_SECONDS)
        return os.pread(file.fd, 1, 0)

    with ThreadPoolExecutor() as threads:
        file._threads = threads
        reading = asyncio.ensure_future(file._run(work))
        await asyncio.to_thread(started.wait, 5)
        running = file._running
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        file.close()
        os.fstat(file.fd)  # still open
        release.set()
        assert running is not None
        assert await asyncio.wrap_future(running) == b"x"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file.fd)
