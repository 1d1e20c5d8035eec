"""Output of a command as text: decoding across reads, and shortening of long output."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.spawn.output_spool import OutputSpool
from sandbox_server.features.bash.command import BashCommandState

MAX_SECONDS = 366 * 86400.0
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
Offset = Annotated[int, Field(ge=0)]


class BashOutputRequest(Model):
    """The output to read, and its offsets."""

    session_id: str
    command_id: str | None = None
    """Command to read. Absent: the output of all commands of the session, one after the other."""
    offset: Offset = 0
    """Byte of stdout to start at: the `offset` of the last answer."""
    stderr_offset: Offset = 0
    """Byte of stderr to start at: the `stderr_offset` of the last answer."""
    wait: bool = False
    """Wait until there is output or the command has ended."""
    wait_timeout: Seconds = 30
    """Limit of the wait in seconds."""


class BashOutputResult(Model):
    """New output, and the offsets for the next call."""

    session_id: str
    stdout: str = ""
    stderr: str = ""
    offset: int = 0
    stderr_offset: int = 0
    command: BashCommandState | None = None
    """The requested command, or the current or latest one."""


READ_LIMIT = 8 << 20
"""Limit in bytes of one stream in one answer. The next call returns more."""
PIECE = 256 << 10
MAX_CHARACTER = 4
"""Bytes of a character in UTF-8."""


@dataclass(frozen=True, slots=True)
class DecodedOutput:
    """Characters, and the offset of the byte after them."""

    text: str
    end: int

    def moved(self, base: int) -> "DecodedOutput":
        """The same text, with offsets moved by `base` bytes."""
        return DecodedOutput(self.text, self.end + base)


async def read_text(spool: OutputSpool, offset: int, *, ended: bool, limit: int = READ_LIMIT, stop: int | None = None) -> DecodedOutput:
    """Read about `limit` bytes from byte `offset`, up to `stop` or the end.

    While the stream has not `ended`, an incomplete character at its end is left for the next read. Invalid UTF-8 is
    replaced, and dropped bytes are marked where they were.
    """
    stop = spool.size if stop is None else stop
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    position, parts = min(offset, stop), list[str]()
    last = min(stop, position + limit)
    while position < last:
        start, piece = await spool.read(position, min(PIECE, last - position))
        if start > position:
            parts += [decoder.decode(b"", final=True), _gap(min(start, stop) - position)]
            last = min(stop, last + start - position)
        parts.append(decoder.decode(piece))
        position = min(start, stop) + len(piece)
    if ended and position == stop:
        return DecodedOutput("".join([*parts, decoder.decode(b"", final=True)]), position)
    return DecodedOutput("".join(parts), position - len(decoder.getstate()[0]))


@dataclass(frozen=True, slots=True)
class SpoolPart:
    """One command's part of its session's output: from `base` up to `stop`, if it has ended."""

    spool: OutputSpool
    base: int
    stop: int | None
    ended: bool


async def read_parts(parts: Sequence[SpoolPart], offset: int) -> DecodedOutput:
    """Read from byte `offset` of a session's output on, across commands."""
    texts, position, room = list[str](), offset, READ_LIMIT
    for part in parts:
        if part.stop is not None and position >= part.stop:
            continue
        if position < part.base:
            texts.append(_gap(part.base - position))
            position = part.base
        stop = None if part.stop is None else part.stop - part.base
        new = await read_text(part.spool, position - part.base, ended=part.ended, limit=room, stop=stop)
        texts.append(new.text)
        room -= part.base + new.end - position
        position = part.base + new.end
        if part.stop is None or position < part.stop:
            break
    return DecodedOutput("".join(texts), position)


async def excerpt(spool: OutputSpool, most: int, *, ended: bool) -> DecodedOutput:
    """Read a whole stream as at most about `most` characters, with a marker for its middle; 0 means no limit.

    Without a limit the text still ends after `READ_LIMIT` bytes, as its `end` shows.
    """
    size, room = spool.size, min(most * MAX_CHARACTER, READ_LIMIT) if most else READ_LIMIT
    first = await read_text(spool, 0, ended=ended, limit=room)
    if not most or (size <= room and len(first.text) <= most):
        return first
    last = first if size <= room else await read_text(spool, size - room, ended=ended, limit=room)
    return DecodedOutput(_shorten(first.text, last.text, most, size), last.end)


def _shorten(first: str, last: str, most: int, size: int) -> str:
    marker = f"\n... [output truncated: {size} bytes in all] ...\n"
    room = max(most - len(marker), most // 2)
    tail = room // 2
    return f"{first[: room - tail]}{marker}{last[len(last) - tail :]}"


def _gap(length: int) -> str:
    return f"\n... [{length} bytes were not kept] ...\n"
