"""Output of a process, kept on disk while it may still be read, so that memory stays constant."""

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
"""Number of files for the rest, so that the oldest part can be dropped."""


@dataclass(slots=True)
class _Segment:
    start: int
    length: int
    file: BinaryIO

    @property
    def end(self) -> int:
        return self.start + self.length


class OutputSpool:
    """Bytes in order. An offset counts every byte ever written, kept or not.

    The first `HEAD` bytes are always kept, and of the rest at least the last `limit` bytes. The files have no name, so
    no one else can open them. If the disk refuses a part, that part counts as dropped, without an effect on the process
    that wrote it.
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
        """Add a chunk. If that uses the disk, returns a future that is done when the next chunk may come."""
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
        """Return up to `length` bytes from the first kept byte at or after `offset`, and their offset; no bytes at the end.

        A shorter result does not mean the end.
        """
        if offset < len(self._head):
            return offset, bytes(self._head[offset : offset + length])
        if offset >= self.size:
            return self.size, b""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._load, offset, length)

    def close(self) -> None:
        """Drop everything. What is appended later is dropped too."""
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
        written = last.file.write(chunk)  # fewer if the disk is full: the next chunk begins another segment
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
