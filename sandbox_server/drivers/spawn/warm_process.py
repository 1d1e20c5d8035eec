"""A warm process: forked in advance, it has already become the agent in its box, and waits for its program.

Forking and entering a box takes longer than many commands. One such process waits at a time. The agent may kill it, and
it ends with its box; then the next program starts without it.
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
"""Pause after a program has started, so that it runs first."""
RETRY_SECONDS = 1.0
"""Seconds after one ended early, or could not be forked."""


class WarmProcess:
    """A warm process. `report` is where it says why its program did not start; it is closed if it did."""

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
        """Send it its program. Raises OSError if it has ended. Later failures are reported on `report`."""
        told = {"argv": list(program.argv), "cwd": program.cwd, "environment": dict(program.environment)}
        descriptor_passing.send_request(self._channel, told, program.fds)
        self._channel.close()

    def close(self) -> None:
        """Let it end."""
        self._channel.close()
        os.close(self.report)


class WarmProcesses:
    """Keeps one warm process for programs of `account`, within `limits`, and in the box of `link` if there is one."""

    def __init__(self, account: Account, link: SpawnerLink | None, limits: Mapping[str, int]) -> None:
        self._fork = partial(WarmProcess, account, link, limits)
        self._account = account
        self._link = link
        self._limits = limits
        self._waiting: WarmProcess | None = None
        self._due = 0.0

    def keep(self) -> float | None:
        """Fork one if there is none and it is time.

        Return the seconds until it is; None if there is nothing to wait for.
        """
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
        """Return the warm process for a program; None if there is none, or the program needs other limits than usual."""
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
        """Note that a process has ended, so that the next warm process waits for its pause."""
        if self._waiting and self._waiting.pid == pid:
            self.drop()
            self._rest(RETRY_SECONDS)
        elif self._due < time.monotonic() + PAUSE_SECONDS:
            self._due = 0.0

    def drop(self) -> None:
        """Let the warm process end, as its box does."""
        if self._waiting:
            self._waiting.close()
            self._waiting = None

    def _rest(self, seconds: float) -> float:
        self._due = time.monotonic() + seconds
        return seconds
