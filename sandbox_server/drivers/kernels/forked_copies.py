"""Copies of a kernel that code has forked: on Linux they hold the kernel's sockets, and a fork bomb is made of nothing else."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

SWEEPS = 50
"""How often at most it is looked for copies, before some are left."""
_TICKS = os.sysconf("SC_CLK_TCK")


class ForkedCopies:
    """What code has forked of the kernel with number `pid`, and has not executed another program since."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._since = 0

    def begin(self) -> None:
        """Take those that there are for none of the next code's."""
        self._since = int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)

    def end(self) -> int:
        """Kill them; gives how many could not be. They are stopped first: who is stopped makes no more of them."""
        stopped: set[int] = set()
        for _ in range(SWEEPS):
            found = set(self._find())
            if found <= stopped:
                break
            for pid in found - stopped:
                _signal(pid, signal.SIGSTOP)
            stopped |= found
        for pid in stopped:
            _signal(pid, signal.SIGKILL)
        return sum(1 for pid in self._find() if pid not in stopped)

    def _find(self) -> Iterator[int]:
        kernel = _read(f"/proc/{self._pid}/cmdline")
        for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()  # proc_pid_stat(5), from the third on
            own = len(fields) > 19 and int(fields[2]) == self._pid != pid and fields[0] not in (b"Z", b"X")
            if own and int(fields[19]) >= self._since and _read(f"/proc/{pid}/cmdline") == kernel:
                yield pid


def _read(path: str) -> bytes:
    with suppress(OSError), open(path, "rb") as file:
        return file.read()
    return b""


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
