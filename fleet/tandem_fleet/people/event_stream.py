"""Server-sent events of a sandbox, of which nothing is believed: lines and events have a longest size."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from tandem_fleet.people.answers import UnusableAnswer

MOST_BYTES = 1 << 20
"""Of one event."""
PER_LINE = 64
"""What a line takes beside its text."""
BYTES_A_SECOND = 256 << 10
"""How fast a stream is read, after as much at once. A sandbox that sends more waits, and takes no time from the others."""
PIECE = 512
"""What a piece counts for at least."""


async def paced(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same pieces, no faster than that."""
    clock = asyncio.get_running_loop().time
    due = clock()
    async for chunk in chunks:
        yield chunk
        due = max(due, clock() - 1) + max(len(chunk), PIECE) / BYTES_A_SECOND
        if (ahead := due - clock()) > 0:
            await asyncio.sleep(ahead)


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, bytes], None]:
    """The name and the data of each event. Raises `UnusableAnswer` for one that is too large."""
    name, data, kept, size = "message", list[bytes](), bytearray(), 0
    async for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        kept += first
        lines = list[bytes]()
        if rest:
            lines, kept = [bytes(kept), *rest[:-1]], bytearray(rest[-1])
        for line in lines:
            field, _, value = line.rstrip(b"\r").partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                name = value[:64].decode("utf-8", "replace")
            elif field == b"data":
                data.append(value)
                size += len(value) + PER_LINE
            elif not field and not value and not line.startswith(b":"):
                if data:
                    yield name, b"\n".join(data)
                name, data, size = "message", [], 0
        if len(kept) + size > MOST_BYTES:
            raise UnusableAnswer("an event of the sandbox is too large")
