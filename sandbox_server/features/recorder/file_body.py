"""A file that is open, as the body of an answer."""

import asyncio
import os
from collections.abc import AsyncIterator

PIECE = 256 << 10


class FileBody:
    """A file that is read by threads: each piece by a descriptor of its own, which the thread closes."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def read(self, start: int, stop: int) -> AsyncIterator[bytes]:
        """The bytes between two places."""
        while start < stop:
            piece = await asyncio.to_thread(_piece, os.dup(self._fd), start, min(PIECE, stop - start))
            if not piece:
                return
            start += len(piece)
            yield piece

    def close(self) -> None:
        """Let go of it."""
        os.close(self._fd)


def _piece(fd: int, start: int, length: int) -> bytes:
    try:
        return os.pread(fd, length, start)
    finally:
        os.close(fd)
