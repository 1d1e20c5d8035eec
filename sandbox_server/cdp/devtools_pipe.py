"""Chromium's DevTools pipe: NUL-terminated messages in both directions."""

import asyncio
import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

from sandbox_server.cdp.messages import Splitter

PIPE_BYTES = 1 << 20
"""Size of each pipe. The kernel's default of 64 KiB needs dozens of wake-ups for one screenshot."""
UNSENT_BYTES = 8 << 20
"""Above this many unsent bytes, clients are not read until Chromium has taken some."""

type Take = Callable[[bytes], None]


class _Reader(asyncio.Protocol):
    def __init__(self, take: Take, ended: Callable[[], None]) -> None:
        self._split = Splitter()
        self._take = take
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        for message in self._split.feed(data):
            self._take(message)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended()


class _Writer(asyncio.BaseProtocol):
    def __init__(self) -> None:
        self.writable = asyncio.Event()
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.writable.set()


class Pipe:
    """The server's ends of the pipe."""

    def __init__(self, reader: asyncio.ReadTransport, writer: asyncio.WriteTransport, state: _Writer) -> None:
        self._reader = reader
        self._writer = writer
        self._state = state

    def send(self, message: bytes) -> None:
        """Queue a message. It is dropped if the browser is gone."""
        if not self._writer.is_closing():
            self._writer.write(message + b"\0")

    async def writable(self) -> None:
        """Wait until Chromium has read most of what was sent."""
        await self._state.writable.wait()

    def close(self) -> None:
        """Close both ends, upon which Chromium quits."""
        self._reader.close()
        self._writer.abort()


async def open_pipe(readable: int, writable: int, take: Take, ended: Callable[[], None]) -> Pipe:
    """Open the pipe from its two descriptors. `take` gets every message; `ended` is called after the last one."""
    loop = asyncio.get_running_loop()
    for fd in (readable, writable):
        with suppress(PermissionError):  # the user's quota of pipe pages is used up
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    reader, _ = await loop.connect_read_pipe(lambda: _Reader(take, ended), os.fdopen(readable, "rb", buffering=0))
    writer, state = await loop.connect_write_pipe(_Writer, os.fdopen(writable, "wb", buffering=0))
    writer.set_write_buffer_limits(high=UNSENT_BYTES)
    return Pipe(reader, writer, state)
