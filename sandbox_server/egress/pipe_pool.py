"""Pipes for splice(2): a flow holds one only while bytes are in it."""

import fcntl
import os
from dataclasses import dataclass

SMALL, LARGE = 64 << 10, 1 << 20
MAX_LARGE = 24
"""How many large pipes there are. A user's pipes together may have 16,384 pages before new ones get two (pipe(7))."""
MAX_KEPT = 64
"""How many small pipes are kept for the next flow."""


@dataclass(frozen=True, slots=True)
class SplicePipe:
    """A pipe that does not block."""

    readable: int
    writable: int
    size: int

    def close(self) -> None:
        """Close both ends."""
        os.close(self.readable)
        os.close(self.writable)


class PipePool:
    """Pipes that flows take and give back empty."""

    def __init__(self) -> None:
        self._small: list[SplicePipe] = []
        self._large: list[SplicePipe] = []
        self._large_count = 0

    def take(self, *, large: bool) -> SplicePipe:
        """Take an empty pipe, a large one if there is one left and it is asked for. Raises OSError without descriptors."""
        if large and self._large:
            return self._large.pop()
        if large and self._large_count < MAX_LARGE:
            pipe = _pipe(LARGE)
            self._large_count += pipe.size == LARGE
            return pipe
        return self._small.pop() if self._small else _pipe(SMALL)

    def give(self, pipe: SplicePipe) -> None:
        """Take an empty pipe back."""
        if pipe.size == LARGE:
            self._large.append(pipe)
        elif len(self._small) < MAX_KEPT:
            self._small.append(pipe)
        else:
            pipe.close()

    def discard(self, pipe: SplicePipe) -> None:
        """Close a pipe that still holds bytes."""
        self._large_count -= pipe.size == LARGE
        pipe.close()

    def close(self) -> None:
        """Close all pipes that nobody holds."""
        for pipe in self._small + self._large:
            self.discard(pipe)
        self._small, self._large = [], []


def _pipe(size: int) -> SplicePipe:
    readable, writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    if size > SMALL:
        try:
            size = fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, size)
        except PermissionError:  # the user has its share
            size = SMALL
    return SplicePipe(readable, writable, size if size == LARGE else SMALL)
