"""A flow between two sockets: the kernel moves its bytes with splice(2), and this process never sees them.

A screen may look at what one side sends, as long as it wants to. It is called with bytes and returns those to send on.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress

from sandbox_server.egress.pipe_pool import PipePool, SplicePipe

_FLAGS = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK
_ROUNDS = 16
"""Rounds of one direction before other flows have their turn."""
_LARGE_AFTER = 1 << 20
"""Bytes after which a direction takes a large pipe."""
_READ = 16 << 10
HALF_CLOSED_SECONDS = 300.0
"""How long a flow may be silent that one side has closed: that side may be gone, which shows only once it is sent something."""


class FlowCut(Exception):
    """A screen ends the flow; the message says why."""


Screen = Callable[[bytes], tuple[bytes, bool]]
"""Takes what was sent, and returns what to send on and whether it wants to see more. Raises FlowCut."""


class _OneWay:
    """One direction of a flow, driven by the event loop's callbacks."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pool: PipePool, source: socket.socket, target: socket.socket) -> None:
        self._loop = loop
        self._pool = pool
        self._source = source
        self._target = target
        self._pipe: SplicePipe | None = None
        self._held = 0
        self.pending = b""
        """Bytes to send before anything else."""
        self.screen: Screen | None = None
        self.moved = 0
        self.moved_at = loop.time()
        self.ended = False
        self._on_end: Callable[[Exception | None], None] = lambda _: None

    def start(self, on_end: Callable[[Exception | None], None]) -> None:
        """Begin to move bytes. `on_end` is called once, with what went wrong."""
        self._on_end = on_end
        self._loop.add_reader(self._source, self._on_ready)
        if self.pending:
            self._on_ready()

    def say(self, held: bytes) -> None:
        """Send bytes after those that wait."""
        self.pending += held
        if held and not self.ended:
            self._on_ready()

    def stop(self) -> None:
        """Move nothing more."""
        self.ended = True
        self._loop.remove_reader(self._source)
        self._loop.remove_writer(self._target)
        if self._pipe:
            (self._pool.discard if self._held else self._pool.give)(self._pipe)
            self._pipe = None

    def _on_ready(self) -> None:
        try:
            self._move()
        except (OSError, FlowCut) as error:
            self.stop()
            self._on_end(error)

    def _move(self) -> None:
        self.moved_at = self._loop.time()
        if self._drained():
            for _ in range(_ROUNDS):
                if not (self._filled() and self._drained()):
                    return

    def _filled(self) -> bool:
        """Take bytes from the source; False if there are none now."""
        try:
            got = self._screened() if self.screen else self._spliced()
        except BlockingIOError:
            self._release()
            return False
        if not got:
            self._end_of_source()
        return got > 0

    def _screened(self) -> int:
        assert self.screen
        received = self._source.recv(_READ)
        if received:
            passed, more = self.screen(received)
            self.pending += passed
            if not more:
                self.screen = None
        return len(received)

    def _spliced(self) -> int:
        if self._pipe is None:
            self._pipe = self._pool.take(large=self.moved >= _LARGE_AFTER)
        self._held = os.splice(self._source.fileno(), self._pipe.writable, self._pipe.size, flags=_FLAGS)
        return self._held

    def _drained(self) -> bool:
        """Pass on what was taken; False if the target takes no more now, and then only that is waited for."""
        try:
            while self.pending:
                self._count(sent := self._target.send(self.pending))
                self.pending = self.pending[sent:]
            while self._held and self._pipe:
                self._count(sent := os.splice(self._pipe.readable, self._target.fileno(), self._held, flags=_FLAGS))
                self._held -= sent
        except BlockingIOError:
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._target, self._on_writable)
            return False
        return True

    def _count(self, sent: int) -> None:
        self.moved += sent

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._target)
        self._loop.add_reader(self._source, self._on_ready)
        self._on_ready()

    def _release(self) -> None:
        if self._pipe and not self._held:
            self._pool.give(self._pipe)
            self._pipe = None

    def _end_of_source(self) -> None:
        self.stop()
        with suppress(OSError):
            self._target.shutdown(socket.SHUT_WR)
        self._on_end(None)


class SplicedFlow:
    """Both directions between a client and a server. The caller closes the sockets after `ended`."""

    def __init__(self, pool: PipePool, client: socket.socket, server: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._client, self._server = client, server
        self._up = _OneWay(loop, pool, client, server)
        self._down = _OneWay(loop, pool, server, client)
        self._loop = loop
        self._half_closed: asyncio.TimerHandle | None = None
        self.ended: asyncio.Future[str] = loop.create_future()
        """Resolves to why the flow ended; empty if both sides closed it."""

    @property
    def sent(self) -> int:
        """Bytes that went to the server."""
        return self._up.moved

    @property
    def received(self) -> int:
        """Bytes that came from the server."""
        return self._down.moved

    @property
    def moved_at(self) -> float:
        """When bytes last moved, by the loop's clock."""
        return max(self._up.moved_at, self._down.moved_at)

    def start(self, first: bytes = b"", screen: Screen | None = None, answers: Screen | None = None) -> None:
        """Begin: `first` goes to the server before anything else. `answers` screens what the server says."""
        self._up.pending, self._up.screen, self._down.screen = first, screen, answers
        self._up.start(self._on_end)
        if not self._down.ended:
            self._down.start(self._on_end)

    def screen(self, screen: Screen) -> None:
        """Screen what the client says from now on with another screen."""
        self._up.screen = screen

    def say(self, held: bytes) -> None:
        """Send on what a screen had held back."""
        self._up.say(held)

    def cut(self, reason: str) -> None:
        """End the flow now."""
        for way in (self._up, self._down):
            way.stop()
        for sock in (self._client, self._server):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._finish(reason)

    def _on_end(self, error: Exception | None) -> None:
        if error:
            self.cut(
                str(error) if isinstance(error, FlowCut) else f"connection lost: {error.strerror}" if isinstance(error, OSError) else ""
            )
        elif self._up.ended and self._down.ended:
            self._finish("")
        else:
            self._await_other(HALF_CLOSED_SECONDS)

    def _finish(self, reason: str) -> None:
        if self._half_closed:
            self._half_closed.cancel()
        if not self.ended.done():
            self.ended.set_result(reason)

    def _await_other(self, seconds: float) -> None:
        self._half_closed = self._loop.call_later(seconds, self._cut_silent)

    def _cut_silent(self) -> None:
        left = self.moved_at + HALF_CLOSED_SECONDS - self._loop.time()
        if left > 0:
            self._await_other(left)
        else:
            self.cut("one side closed it, and the other was silent")
