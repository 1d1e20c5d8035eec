import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.spawn.output_spool import HEAD, OutputSpool
from sandbox_server.features.bash.output import DecodedOutput, SpoolPart, excerpt, read_parts, read_text

pytestmark = pytest.mark.anyio


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[OutputSpool]:
    opened = OutputSpool(1 << 20, str(tmp_path))
    yield opened
    opened.close()


def holding(spool: OutputSpool, content: bytes) -> OutputSpool:
    spool.append(content)
    return spool


async def test_text_moves_with_its_stream() -> None:
    assert DecodedOutput("a", 3).moved(10) == DecodedOutput("a", 13)


async def test_a_character_waits_for_its_last_byte_until_the_stream_has_ended(spool: OutputSpool) -> None:
    holding(spool, "aé".encode()[:-1])
    assert await read_text(spool, 0, ended=False) == DecodedOutput("a", 1)
    assert await read_text(spool, 0, ended=True) == DecodedOutput("a�", 2)


async def test_a_character_is_whole_wherever_the_read_is_cut(spool: OutputSpool) -> None:
    text = "aé€😀" * 10
    holding(spool, text.encode())
    for limit in range(4, 20):
        read, offset = "", 0
        while offset < spool.size:
            piece = await read_text(spool, offset, ended=True, limit=limit)
            assert piece.end > offset
            read, offset = read + piece.text, piece.end
        assert read == text


async def test_bytes_that_are_no_text_are_replaced(spool: OutputSpool) -> None:
    holding(spool, b"a\xff\xfeb")
    assert await read_text(spool, 0, ended=True) == DecodedOutput("a��b", 4)


async def test_an_offset_beyond_the_end_comes_back_as_the_end(spool: OutputSpool) -> None:
    assert await read_text(holding(spool, b"abc"), 99, ended=False) == DecodedOutput("", 3)


async def test_what_is_not_kept_is_named_and_does_not_count_as_read(spool: OutputSpool) -> None:
    for chunk in (b"h" * HEAD, *([b"m" * (1 << 20)] * 10)):
        if stored := spool.append(chunk):
            await stored
    new = await read_text(spool, HEAD - 1, ended=True, limit=2)
    gap = len(new.text) - 2
    assert new.text.startswith("h\n... [")
    assert new.text.endswith("bytes were not kept] ...\nm")
    assert gap > 0
    assert (await read_text(spool, new.end, ended=True)).text == "m" * (spool.size - new.end)


async def test_an_excerpt_is_the_whole_where_that_fits(spool: OutputSpool) -> None:
    holding(spool, "ä".encode() * 100)
    assert await excerpt(spool, 100, ended=True) == DecodedOutput("ä" * 100, 200)
    assert await excerpt(spool, 0, ended=True) == DecodedOutput("ä" * 100, 200)


@pytest.mark.parametrize("most", [1, 10, 60, 99])
async def test_an_excerpt_has_the_beginning_the_end_and_a_marker(spool: OutputSpool, most: int) -> None:
    holding(spool, ("ä" * 50 + "z" * 50).encode())
    short = await excerpt(spool, most, ended=True)
    marker = "\n... [output truncated: 150 bytes in all] ...\n"
    assert short.end == 150
    assert marker in short.text
    assert len(short.text) <= max(most, most // 2 + len(marker))
    before, after = short.text.split(marker)
    assert set(before) <= {"ä"}
    assert set(after) <= {"z"}


async def test_an_excerpt_of_much_output_reads_only_its_ends(tmp_path: Path) -> None:
    spool = OutputSpool(20 << 20, str(tmp_path))
    content = b"first" + os.urandom(1).hex().encode() * (5 << 20) + b"last"
    for start in range(0, len(content), 1 << 16):
        if stored := spool.append(content[start : start + (1 << 16)]):
            await stored
    short = await excerpt(spool, 1000, ended=True)
    assert (short.text[:5], short.text[-4:], short.end, len(short.text)) == ("first", "last", len(content), 1000)
    spool.close()


async def test_the_output_of_several_commands_is_one_stream(tmp_path: Path) -> None:
    spools = [holding(OutputSpool(1 << 20, str(tmp_path)), content) for content in (b"one" + b" late", b"", b"two")]
    parts = [
        SpoolPart(spools[0], 10, 13, ended=True),
        SpoolPart(spools[1], 13, 13, ended=True),
        SpoolPart(spools[2], 13, None, ended=False),
    ]
    assert await read_parts(parts, 10) == DecodedOutput("onetwo", 16)
    assert await read_parts(parts, 12) == DecodedOutput("etwo", 16)
    assert await read_parts(parts, 14) == DecodedOutput("wo", 16)
    assert await read_parts(parts, 0) == DecodedOutput("\n... [10 bytes were not kept] ...\nonetwo", 16)
    assert await read_parts([], 5) == DecodedOutput("", 5)


async def test_a_command_that_ended_in_the_middle_of_a_character_does_not_stop_the_reader(tmp_path: Path) -> None:
    first, second = (holding(OutputSpool(1 << 20, str(tmp_path)), content) for content in (b"a\xc3", b"b"))
    parts = [SpoolPart(first, 0, 2, ended=True), SpoolPart(second, 2, None, ended=True)]
    assert await read_parts(parts, 0) == DecodedOutput("a�b", 3)
