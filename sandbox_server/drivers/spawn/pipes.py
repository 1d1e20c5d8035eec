"""The server's ends of a process's standard streams, read and written on the event loop without blocking."""

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import ResourceExhausted, TooLarge

CHUNK = 64 << 10
"""Bytes read at once: a pipe's capacity."""

type Sink = Callable[[bytes], asyncio.Future[None] | None]
"""Takes a chunk. If it returns a future, the next chunk waits for it."""


class _End:
    """One pipe: `theirs` is the process's end."""

    def __init__(self, ours: int, theirs: int) -> None:
        os.set_blocking(ours, False)
        self.theirs = theirs
        self._ours = ours
        self._loop = asyncio.get_running_loop()

    @property
    def closed(self) -> bool:
        """Whether the server's end is closed."""
        return self._ours < 0

    def release(self) -> None:
        """Close the process's end here, once the process has its own copy."""
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    def close(self) -> None:
        """Close both ends. A second call does nothing."""
        self.release()
        if not self.closed:
            self._loop.remove_reader(self._ours)
            self._loop.remove_writer(self._ours)
            os.close(self._ours)
            self._ours = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class PipeReader(_End):
    """Feeds the output of a process to `sink`, until every holder of the other end has closed it."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(*_pipe())
        self._sink = sink
        self._busy: asyncio.Future[None] | None = None
        self._taken = 0
        self._loop.add_reader(self._ours, self._take)

    async def settle(self) -> None:
        """Read everything that was written before this call. A background process may still use the pipe."""
        if self.closed:
            return
        waiting: int = struct.unpack("i", fcntl.ioctl(self._ours, termios.FIONREAD, b"\0" * 4))[0]
        goal = self._taken + waiting
        while not self.closed and (self._busy or self._taken < goal):
            if self._busy:
                await asyncio.wait([self._busy])
            elif not self._take():
                return  # nothing is left: a process can read from the pipe, too

    def _take(self) -> bool:
        """Read what is available, and return whether there was anything."""
        try:
            chunk = os.read(self._ours, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.close()
            return False
        self._taken += len(chunk)
        if busy := self._sink(chunk):
            self._busy = busy
            self._loop.remove_reader(self._ours)
            busy.add_done_callback(self._go_on)
        return True

    def _go_on(self, _: asyncio.Future[None]) -> None:
        self._busy = None
        if not self.closed:
            self._loop.add_reader(self._ours, self._take)


class Capture:
    """A sink that keeps the first `limit` bytes and drops the rest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.dropped = 0

    def take(self, chunk: bytes) -> None:
        """Keep what still fits."""
        fits = self._limit - len(self._kept)
        self.dropped += max(0, len(chunk) - fits)
        self._kept += chunk[:fits]

    @property
    def truncated(self) -> bool:
        """Whether bytes were dropped."""
        return self.dropped > 0

    def bytes(self) -> bytes:
        """The kept bytes."""
        return bytes(self._kept)


class PipeWriter(_End):
    """Feeds a process's standard input as fast as it reads. Holds at most `limit` unread bytes."""

    def __init__(self, limit: int) -> None:
        theirs, ours = _pipe()
        super().__init__(ours, theirs)
        self._limit = limit
        self._unsent = bytearray()
        self._ending = False

    def feed(self, chunk: bytes) -> None:
        """Queue all of `chunk` or nothing.

        Raises BrokenPipeError if no process reads any more, TooLarge, and ResourceExhausted while the process does not
        read.
        """
        if self.closed or self._ending:
            raise BrokenPipeError
        if len(chunk) > self._limit:
            raise TooLarge(f"the input exceeds {self._limit} bytes", limit=self._limit)
        if len(self._unsent) + len(chunk) > self._limit:
            raise ResourceExhausted("the process does not read its input", retry_after=1)
        self._unsent += chunk
        self._flush()

    def end(self) -> None:
        """Close the stream after what is queued, so that the process reads an end of file."""
        self._ending = True
        if not self.closed:
            self._flush()

    def _flush(self) -> None:
        try:
            with suppress(BlockingIOError):
                while self._unsent:
                    del self._unsent[: os.write(self._ours, self._unsent)]
        except BrokenPipeError:
            self._unsent.clear()
            self.close()
        else:
            self._wait_or_end()

    def _wait_or_end(self) -> None:
        if self._unsent:
            self._loop.add_writer(self._ours, self._flush)
            return
        self._loop.remove_writer(self._ours)
        if self._ending:
            self.close()


def _pipe() -> tuple[int, int]:
    try:
        return os.pipe()
    except OSError as error:
        raise ResourceExhausted(f"no pipe can be made: {error.strerror}", retry_after=1) from error
