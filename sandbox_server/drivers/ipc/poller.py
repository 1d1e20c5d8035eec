"""A loop over descriptors and signals, for a process that must stay small: nothing of asyncio, one thread."""

import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

HANG_UP = 0
"""Events to watch for: only that the other side has gone."""


class Poller:
    """Calls back whoever waits for a descriptor, until told to stop.

    `patience`: the process is ended by SIGALRM when what is called takes so many seconds, so that whoever supervises it starts it anew.
    """

    def __init__(self, patience: float = 0.0) -> None:
        self._patience = patience
        self._poll = select.epoll()
        self._ready: dict[int, Callable[[], None]] = {}
        self._woken, self._wakes = socket.socketpair()
        self._stopping = False

    def watch(self, fd: int, ready: Callable[[], None], events: int = select.EPOLLIN) -> None:
        """Call `ready` whenever the descriptor is; it must bear to be called once for nothing."""
        self._ready[fd] = ready
        self._poll.register(fd, events)

    def unwatch(self, fd: int) -> None:
        """Watch a descriptor no more; before it is closed. One that is not watched is left alone."""
        if self._ready.pop(fd, None):
            self._poll.unregister(fd)

    def watches(self, fd: int) -> bool:
        """Whether a descriptor is watched."""
        return fd in self._ready

    def watch_signals(self, numbers: Iterable[int], arrived: Callable[[bytes], None]) -> None:
        """Call `arrived` with the numbers of the signals that came; for the main thread alone."""
        for end in (self._woken, self._wakes):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)
        self.watch(self._woken.fileno(), partial(self._receive_signals, arrived))

    def run(self, before: Callable[[], float | None] = lambda: None) -> None:
        """Call back until `stop`; an exception is printed and ends nothing.

        `before` is called before each wait and gives how many seconds that may last; None is until something happens.
        """
        while not self._stopping:
            self._limit(self._patience)
            wait = before()
            self._limit(0)
            for fd, _ in self._poll.poll(wait):
                self._limit(self._patience)
                try:
                    if ready := self._ready.get(fd):
                        ready()
                except Exception:  # noqa: BLE001 - the loop's top: one client's failure ends nobody else
                    sys.excepthook(*sys.exc_info())  # prints it without importing what `traceback` needs
        self._limit(0)

    def _limit(self, seconds: float) -> None:
        """Begin to count anew; 0 counts nothing. A process that is forked meanwhile has no such limit (setitimer(2))."""
        if self._patience:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        """End `run` after the events of this moment."""
        self._stopping = True

    def close(self) -> None:
        """Let go of signals and descriptors; what was watched stays open."""
        signal.set_wakeup_fd(-1)
        for owned in (self._poll, self._woken, self._wakes):
            owned.close()

    def _receive_signals(self, arrived: Callable[[bytes], None]) -> None:
        with suppress(BlockingIOError):
            arrived(self._woken.recv(4096))
