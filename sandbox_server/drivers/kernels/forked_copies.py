"""Copies of a kernel that its code has forked.

On Linux they hold the kernel's sockets, and a fork bomb consists of them.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

SWEEPS = 50
"""Limit of sweeps. After that some copies may be left."""
_TICKS = os.sysconf("SC_CLK_TCK")


class ForkedCopies:
    """The forks of the kernel `pid` that have not executed another program."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._since = 0

    def begin(self) -> None:
        """Exclude the existing copies from the next sweep."""
        self._since = int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)

    def end(self) -> int:
        """Kill the new copies, and return how many are left.

        They are stopped first, because a stopped process cannot fork.
        """
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
