"""A process forked before anybody asks: it is the agent already, where the agent's processes live, and waits for its program.

To fork and to enter a box takes longer than many a command. One such process waits at a time. Like every process of the agent it may be
killed by the agent, or end with its box; then the next program starts without it.
"""

import os
import socket
import time
from collections.abc import Mapping
from functools import partial

from sandbox_server.drivers.box.spawner_link import SpawnerLink
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import OOM_SCORE, Account, Program

PAUSE_SECONDS = 0.01
"""After a program has started, so that it has the machine first."""
RETRY_SECONDS = 1.0
"""After one ended before its time, or could not be forked."""


class WarmProcess:
    """A warm process; `report` is where it says why it could not become its program, and is closed where it did."""

    def __init__(self, account: Account, place: SpawnerLink | None, limits: Mapping[str, int]) -> None:
        """Fork it; raises OSError."""
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setblocking(False)
        self.report, writable = os.pipe()
        try:
            self.pid = os.fork()
        except OSError:
            self.close()
            raise
        else:
            if self.pid == 0:
                child_setup.run_warm_process(theirs, account, place, limits, writable)
        finally:
            theirs.close()
            os.close(writable)

    def become(self, program: Program) -> None:
        """Tell it its program. Raises OSError where it has ended before; once it was told, it starts or says on `report` why it cannot."""
        told = {"argv": list(program.argv), "cwd": program.cwd, "environment": dict(program.environment)}
        descriptor_passing.send_request(self._channel, told, program.fds)
        self._channel.close()

    def close(self) -> None:
        """Let it end."""
        self._channel.close()
        os.close(self.report)


class WarmProcesses:
    """Keeps one warm process for programs of `account`, which start in the box of `link` where there is one, within `limits`."""

    def __init__(self, account: Account, link: SpawnerLink | None, limits: Mapping[str, int]) -> None:
        self._fork = partial(WarmProcess, account, link, limits)
        self._account = account
        self._link = link
        self._limits = limits
        self._waiting: WarmProcess | None = None
        self._due = 0.0

    def keep(self) -> float | None:
        """Fork one where there is none and it is time; gives the seconds until it is, None where there is nothing to wait for."""
        if self._waiting or (self._link and not self._link.taken):
            return None
        wait = self._due - time.monotonic()
        if wait > 0:
            return wait
        try:
            self._waiting = self._fork()
        except OSError:  # no process or no memory is left
            return self._rest(RETRY_SECONDS)
        return None

    def take(self, program: Program) -> WarmProcess | None:
        """A process that becomes the program; None where none waits, or the program is to have less or more than usual."""
        usual = program.fence is None and program.limits == self._limits and program.oom_score == OOM_SCORE
        warm = self._waiting if usual else None
        if warm is None:
            return None
        self._waiting = None
        self._rest(PAUSE_SECONDS)
        child_setup.let_open(program.fds[: child_setup.STANDARD], self._account)
        try:
            warm.become(program)
        except OSError:
            warm.close()
            return None
        return warm

    def note_end(self, pid: int) -> None:
        """A process has ended: the one that waits, or a program, so that the machine has time for the next."""
        if self._waiting and self._waiting.pid == pid:
            self.drop()
            self._rest(RETRY_SECONDS)
        elif self._due < time.monotonic() + PAUSE_SECONDS:
            self._due = 0.0

    def drop(self) -> None:
        """Let the one that waits end, as its box does."""
        if self._waiting:
            self._waiting.close()
            self._waiting = None

    def _rest(self, seconds: float) -> float:
        self._due = time.monotonic() + seconds
        return seconds
