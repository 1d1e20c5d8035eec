"""Streaming of large files on descriptors that a worker opened: in pieces, in threads, with constant memory."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, Self

from sandbox_server.core.errors import Conflict, FileError
from sandbox_server.drivers.files.metadata import FileStatus

PIECE = 512 << 10
"""Bytes that are read or written at once."""


class _Descriptor:
    """An open file. It is closed only when no thread uses it, because its number may be reused at once."""

    def __init__(self, fd: int, threads: Executor) -> None:
        self.fd = fd
        self._threads = threads
        self._running: Future[Any] | None = None
        self._closed = False

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._running is None:
            os.close(self.fd)
        else:
            self._running.add_done_callback(lambda _: os.close(self.fd))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _run[T](self, work: Callable[[], T]) -> T:
        if self._closed:
            raise ValueError("the file is closed")
        future = self._threads.submit(work)
        self._running = future
        return await asyncio.wrap_future(future)


class OpenFile(_Descriptor):
    """A regular file, open for reading."""

    def __init__(self, fd: int, status: FileStatus, threads: Executor) -> None:
        super().__init__(fd, threads)
        self.status = status

    async def chunks(self, start: int, stop: int) -> AsyncIterator[bytes]:
        """Read from `start` up to but not including `stop`; raises Conflict if the file has become shorter."""
        while start < stop:
            chunk = await self._run(partial(os.pread, self.fd, min(PIECE, stop - start), start))
            if not chunk:
                raise Conflict("the file became shorter while it was read")
            start += len(chunk)
            yield chunk

    def changed(self) -> bool:
        """Whether the file was written since it was opened."""
        now = os.fstat(self.fd)
        return (now.st_size, now.st_mtime_ns) != (self.status.size, self.status.modified)


class StagedFile(_Descriptor):
    """A file that is being written. Leaving the context closes it; unless it was committed, it is discarded."""

    def __init__(self, fd: int, threads: Executor, fail: Callable[[int], FileError]) -> None:
        super().__init__(fd, threads)
        self.size = 0
        self._fail = fail
        self._pending = bytearray()

    async def write(self, chunk: bytes) -> None:
        """Append to the file; raises FileError, for example if the disk is full."""
        self._pending += chunk
        self.size += len(chunk)
        if len(self._pending) >= PIECE:
            await self.flush()

    async def flush(self) -> None:
        """Write buffered bytes to the kernel."""
        content, self._pending = self._pending, bytearray()
        try:
            await self._run(partial(_write_all, self.fd, content))
        except OSError as error:
            raise self._fail(error.errno or errno.EIO) from None


def _write_all(fd: int, content: bytearray) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]
