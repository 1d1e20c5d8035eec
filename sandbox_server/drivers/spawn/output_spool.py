"""Output of a process, kept on disk while it may still be read: memory stays flat however much there is."""

import asyncio
import os
import tempfile
import threading
from collections import deque
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import BinaryIO

HEAD = 64 << 10
"""Bytes kept in memory: all of most outputs, and the beginning of the others."""
SEGMENTS = 8
"""Files that the rest is kept in, so that the oldest part can be dropped."""


@dataclass(slots=True)
class _Segment:
    start: int
    length: int
    file: BinaryIO

    @property
    def end(self) -> int:
        return self.start + self.length


class OutputSpool:
    """Bytes in order; an offset counts every byte ever written, kept or not.

    The first `HEAD` bytes are always kept, and of what follows the latest `limit` bytes or more. Files have no name, so nobody else can
    open them. When the disk refuses a part, that part counts as dropped, and the process that wrote it never knows.
    """

    def __init__(self, limit: int, directory: str, executor: Executor | None = None) -> None:
        self.size = 0
        self.kept = 0
        """Bytes that can be read."""
        self._directory = directory
        self._executor = executor
        self._segment_size = max(limit // (SEGMENTS - 1), 1)
        self._head = bytearray()
        self._segments: deque[_Segment] = deque()
        self._lock = threading.Lock()  # an append and a read may run in two threads
        self._closed = False

    def append(self, chunk: bytes) -> asyncio.Future[None] | None:
        """Add a chunk; where that takes the disk, the future is done when the next chunk may come."""
        if self.size == len(self._head) and not self._closed:
            first = chunk[: HEAD - self.size]
            self._head += first
            self.size += len(first)
            self.kept += len(first)
            chunk = chunk[len(first) :]
        if not chunk:
            return None
        return asyncio.get_running_loop().run_in_executor(self._executor, self._store, chunk)

    async def read(self, offset: int, length: int) -> tuple[int, bytes]:
        """Give up to `length` bytes from the first kept byte at or after `offset`, and where that is; none at the end.

        Fewer bytes than asked for do not mean the end.
        """
        if offset < len(self._head):
            return offset, bytes(self._head[offset : offset + length])
        if offset >= self.size:
            return self.size, b""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._load, offset, length)

    def close(self) -> None:
        """Forget everything; what is appended later is dropped."""
        with self._lock:
            self._closed = True
            self._head.clear()
            for segment in self._segments:
                segment.file.close()
            self._segments.clear()
            self.kept = 0

    def _store(self, chunk: bytes) -> None:
        with self._lock:
            if not self._closed:
                try:
                    self._write(chunk)
                except OSError:  # no space: nothing of the chunk is kept
                    self._drop_empty_segment()
            self.size += len(chunk)

    def _write(self, chunk: bytes) -> None:
        last = self._segments[-1] if self._segments else None
        if last is None or last.length >= self._segment_size or last.end != self.size:
            last = self._begin_segment()
        written = last.file.write(chunk)  # fewer where the disk is full: the next chunk begins another segment
        last.length += written
        self.kept += written

    def _begin_segment(self) -> _Segment:
        segment = _Segment(self.size, 0, tempfile.TemporaryFile(dir=self._directory, buffering=0))  # noqa: SIM115 - closed with its segment
        self._segments.append(segment)
        if len(self._segments) > SEGMENTS:
            self.kept -= self._segments[0].length
            self._segments.popleft().file.close()
        return segment

    def _drop_empty_segment(self) -> None:
        if self._segments and not self._segments[-1].length:
            self._segments.pop().file.close()

    def _load(self, offset: int, length: int) -> tuple[int, bytes]:
        with self._lock:
            for segment in self._segments:
                if offset < segment.end:
                    start = max(offset, segment.start)
                    count = min(length, segment.end - start)
                    return start, os.pread(segment.file.fileno(), count, start - segment.start)
            return self.size, b""
