"""The daemon's side of a checkpoint of a box that runs: it stops the box for a worker, and makes a layer of what that has copied."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress

from sandbox_server.drivers.box.box import BoxError
from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.lifecycle import Answer, BoxLifecycle
from sandbox_server.drivers.box.live_checkpoint import MAX_PAUSE_SECONDS
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import Message

GRACE_SECONDS = 1.0
"""How much longer than it should the box may stand still before the worker is not waited for."""

_ENDED = "the box ended while what changed was copied: nothing was kept"

type Reply = Callable[[Callable[[], Answer]], None]


class LiveJob:
    """One of them. `reply` says what came of the work that it is given; `theirs` is the worker's end of the socket."""

    def __init__(self, lifecycle: BoxLifecycle, request: Message, reply: Reply) -> None:
        self._lifecycle = lifecycle
        self._request = request
        self._reply = reply
        self._made = lifecycle.made
        self._pausing_at: float | None = None
        self._paused_at: float | None = None
        self._pause = 0.0
        self.worker = 0
        self.ended = False
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.setblocking(False)

    @property
    def overdue(self) -> bool:
        """Whether the box stands still for longer than it may."""
        return self._paused_at is not None and time.monotonic() - self._paused_at > MAX_PAUSE_SECONDS + GRACE_SECONDS

    def on_message(self) -> None:
        """Do what the worker asks for."""
        try:
            message, fds = descriptor_passing.receive(self.ours)
        except BlockingIOError:
            return
        except OSError:
            message, fds = None, []
        descriptor_passing.close_all(fds)
        if message is None:
            self.end(lambda: _raise(BoxError("the worker that copied what changed ended: nothing was kept")))
        elif "pause" in message:
            self._stop_box()
        elif "continue" in message:
            self._continue_box()
        else:
            self.end(lambda: self._outcome(message))

    def _stop_box(self) -> None:
        self._pausing_at = time.monotonic()
        self._lifecycle.pause()
        self._paused_at = time.monotonic()
        with suppress(OSError):
            descriptor_passing.send(self.ours, {"paused": True})

    def _continue_box(self) -> None:
        if self._pausing_at is not None:
            self._lifecycle.go_on()
            self._pause, self._pausing_at, self._paused_at = time.monotonic() - self._pausing_at, None, None

    def _outcome(self, message: Message) -> Answer:
        if "refused" in message:
            raise StoreError(message["refused"], message["message"])
        if self.stale:
            raise BoxError(_ENDED)
        return {**self._lifecycle.keep_copy(self._request, message["ok"]), "pause_seconds": round(self._pause, 4)}

    @property
    def stale(self) -> bool:
        """Whether the box has ended that is copied."""
        return self._lifecycle.made != self._made or self._lifecycle.box is None

    def end_stale(self) -> None:
        """Say that the box has ended."""
        self.end(lambda: _raise(BoxError(_ENDED)))

    def end(self, work: Callable[[], Answer]) -> None:
        """Let the box go on whatever happened, and say what came of it."""
        self.ended = True
        self._continue_box()
        self._reply(work)


def _raise(error: Exception) -> Answer:
    raise error
