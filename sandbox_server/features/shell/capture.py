"""Output of a terminal as bytes, in memory of a fixed size: its beginning, its end, and how much lies between."""

from collections import deque

HEAD = 512 << 10
TAIL = 512 << 10
FOLDED = 32 << 10


class OutputRing:
    """The latest bytes of a stream, about `limit` of them; an offset counts every byte ever added."""

    def __init__(self, limit: int, start: int = 0) -> None:
        self.start = start
        """Offset of the first byte that is kept."""
        self.end = start
        """Offset of the byte after the last."""
        self._limit = limit
        self._chunks: deque[bytes] = deque()

    def add(self, data: bytes) -> None:
        """Append bytes; the oldest go when there are too many."""
        self._chunks.append(data)
        self.end += len(data)
        while self._chunks and self.end - self.start - len(self._chunks[0]) >= self._limit:
            self.start += len(self._chunks.popleft())

    def read(self, offset: int, most: int) -> tuple[int, bytes]:
        """Give about `most` bytes from `offset`, or from the first that is kept, and the offset where they begin."""
        offset = max(offset, self.start)
        position, parts, size = self.start, list[bytes](), 0
        for chunk in self._chunks:
            if position + len(chunk) > offset and size < most:
                part = chunk[max(0, offset - position) :]
                parts.append(part)
                size += len(part)
            position += len(chunk)
        return offset, b"".join(parts)[:most]


class OutputCapture:
    """What one command wrote: the first `HEAD` bytes and about the last `TAIL`."""

    def __init__(self) -> None:
        self._limit = HEAD
        self._head = bytearray()
        self._tail = OutputRing(TAIL, HEAD)

    @property
    def size(self) -> int:
        """Bytes that were written."""
        return len(self._head) if len(self._head) < self._limit else self._tail.end

    @property
    def omitted(self) -> int:
        """Bytes that are not kept, between the beginning and the end."""
        return self._tail.start - self._limit

    def add(self, data: bytes) -> None:
        """Append bytes."""
        room = self._limit - len(self._head)
        if room:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.add(data)

    def read(self, offset: int, most: int) -> tuple[int, bytes]:
        """Give up to `most` bytes from the first kept byte at or after `offset`, and where that is."""
        if offset < len(self._head):
            return offset, bytes(self._head[offset : offset + most])
        return self._tail.read(offset, most) if self.size >= self._limit else (offset, b"")

    def fold(self) -> None:
        """Keep only `FOLDED` bytes of each end: the command is an old one."""
        head, tail = self.parts()
        end = self.size
        rest = (head[FOLDED:] + tail)[-FOLDED:]
        self._head, self._limit = bytearray(head[:FOLDED]), FOLDED
        self._tail = OutputRing(FOLDED, end - len(rest) if end > FOLDED else FOLDED)
        if rest:
            self._tail.add(rest)

    def parts(self) -> tuple[bytes, bytes]:
        """The beginning and the end; they adjoin unless bytes were omitted."""
        _, tail = self._tail.read(self._limit, 2 * TAIL)
        return bytes(self._head), tail
