import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.spawn.output_spool import HEAD, OutputSpool

pytestmark = pytest.mark.anyio

CHUNK = 64 << 10


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[OutputSpool]:
    opened = OutputSpool(1 << 20, str(tmp_path))
    yield opened
    opened.close()


async def fill(spool: OutputSpool, *chunks: bytes) -> None:
    for chunk in chunks:
        if stored := spool.append(chunk):
            await stored


async def everything(spool: OutputSpool, offset: int = 0) -> list[tuple[int, bytes]]:
    """What can be read from `offset` on, as runs of bytes without a gap."""
    runs: list[tuple[int, bytes]] = []
    while (piece := await spool.read(offset, 100_000))[1]:
        start, found = piece
        if runs and start == runs[-1][0] + len(runs[-1][1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + found)
        else:
            runs.append(piece)
        offset = start + len(found)
    return runs


async def test_a_little_output_stays_in_memory(spool: OutputSpool) -> None:
    await fill(spool, b"one", b" two")
    assert await everything(spool) == [(0, b"one two")]
    assert await everything(spool, 4) == [(4, b"two")]
    assert (spool.size, spool.kept) == (7, 7)


async def test_much_output_is_read_back_as_it_was_written(spool: OutputSpool) -> None:
    data = os.urandom(900_000)
    await fill(spool, *(data[start : start + CHUNK] for start in range(0, len(data), CHUNK)))
    assert await everything(spool) == [(0, data)]
    assert await everything(spool, 500_000) == [(500_000, data[500_000:])]


async def test_nothing_lies_beyond_the_end(spool: OutputSpool) -> None:
    await fill(spool, b"abc")
    assert await spool.read(3, 10) == (3, b"")
    assert await spool.read(99, 10) == (3, b"")


async def test_of_too_much_output_the_beginning_and_the_latest_part_are_kept(spool: OutputSpool) -> None:
    data = os.urandom(5 << 20)
    await fill(spool, data[:6])
    await fill(spool, *(data[start : start + CHUNK] for start in range(6, len(data), CHUNK)))
    (first, beginning), (second, latest) = await everything(spool)
    assert (first, len(beginning), beginning) == (0, HEAD, data[:HEAD])
    assert second + len(latest) == spool.size == len(data)
    assert latest == data[second:]
    assert 1 << 20 <= len(latest) < 2 << 20
    assert spool.kept == HEAD + len(latest)


async def test_its_files_have_no_name_and_go_with_it(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    spool = OutputSpool(1 << 20, str(tmp_path))
    await fill(spool, b"x" * HEAD, b"y" * CHUNK)
    assert os.listdir(tmp_path) == []
    assert len(os.listdir("/proc/self/fd")) == before + 1
    spool.close()
    assert len(os.listdir("/proc/self/fd")) == before
    await fill(spool, b"late")
    assert await spool.read(0, 10) == (spool.size, b"")


async def test_what_the_disk_refuses_is_a_gap_and_not_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "full"
    spool = OutputSpool(1 << 20, str(folder))
    await fill(spool, b"h" * HEAD, b"lost" * 10)
    folder.mkdir()
    await fill(spool, b"kept" * 10)
    assert await everything(spool) == [(0, b"h" * HEAD), (HEAD + 40, b"kept" * 10)]
    spool.close()
