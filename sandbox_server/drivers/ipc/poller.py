"""A poll loop over descriptors and signals, for small processes: no asyncio, one thread."""

import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

HANG_UP = 0
"""The event mask for watching only for a hang-up."""


class Poller:
    """Calls a callback for each ready descriptor, until told to stop.

    `watchdog_seconds`: if one callback takes so many seconds, SIGALRM ends the process, and its supervisor restarts it.
    """

    def __init__(self, watchdog_seconds: float = 0.0) -> None:
        self._watchdog_seconds = watchdog_seconds
        self._poll = select.epoll()
        self._ready: dict[int, Callable[[], None]] = {}
        self._woken, self._wakes = socket.socketpair()
        self._stopping = False

    def watch(self, fd: int, ready: Callable[[], None], events: int = select.EPOLLIN) -> None:
        """Call `ready` whenever the descriptor is ready. It must tolerate a spurious call."""
        self._ready[fd] = ready
        self._poll.register(fd, events)

    def unwatch(self, fd: int) -> None:
        """Stop watching a descriptor, before it is closed. Does nothing for one that is not watched."""
        if self._ready.pop(fd, None):
            self._poll.unregister(fd)

    def watches(self, fd: int) -> bool:
        """Whether a descriptor is watched."""
        return fd in self._ready

    def watch_signals(self, numbers: Iterable[int], arrived: Callable[[bytes], None]) -> None:
        """Call `arrived` with the numbers of received signals. For the main thread only."""
        for end in (self._woken, self._wakes):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)
        self.watch(self._woken.fileno(), partial(self._receive_signals, arrived))

    def run(self, before: Callable[[], float | None] = lambda: None) -> None:
        """Run the loop until `stop`. An exception in a callback is printed and ends nothing.

        `before` is called before each wait and returns its limit in seconds; None waits without a limit.
        """
        while not self._stopping:
            self._limit(self._watchdog_seconds)
            wait = before()
            self._limit(0)
            for fd, _ in self._poll.poll(wait):
                self._limit(self._watchdog_seconds)
                try:
                    if ready := self._ready.get(fd):
                        ready()
                except Exception:  # noqa: BLE001 - the loop's top: one client's failure ends nobody else
                    sys.excepthook(*sys.exc_info())  # prints it without importing `traceback`'s dependencies
        self._limit(0)

    def _limit(self, seconds: float) -> None:
        """Restart the watchdog timer; 0 stops it. A forked child does not inherit it (setitimer(2))."""
        if self._watchdog_seconds:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        """End `run` after the current events."""
        self._stopping = True

    def close(self) -> None:
        """Release signals and internal descriptors. What was watched stays open."""
        signal.set_wakeup_fd(-1)
        for owned in (self._poll, self._woken, self._wakes):
            owned.close()

    def _receive_signals(self, arrived: Callable[[bytes], None]) -> None:
        with suppress(BlockingIOError):
            arrived(self._woken.recv(4096))
