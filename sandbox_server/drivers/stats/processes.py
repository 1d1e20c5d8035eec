"""The container's processes, with their usage since the last call."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

_ASKED = ("pid", "ppid", "username", "memory_info", "cpu_times", "num_threads", "num_fds", "status", "create_time")


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process. Values that the kernel hides from this process are None."""

    pid: int
    ppid: int | None
    user: str
    comm: str
    rss_bytes: int
    cpu_pct: float | None
    """Percent of one processor since the last call; None at the first."""
    threads: int | None
    fds: int | None
    """Open descriptors; only for processes of the server's own user."""
    state: str | None
    uptime_sec: float | None


class ProcessTable:
    """Lists all processes, and remembers their processor time to compute the usage."""

    def __init__(self) -> None:
        self._used: dict[tuple[int, float], tuple[float, float]] = {}
        """Seconds of processor time, and their time of measurement, by pid and start time."""

    def rows(self, limit: int) -> list[ProcessRow]:
        """Return the `limit` processes that use most: processor first, then memory.

        It reads all of /proc for some milliseconds in a thread.
        """
        rows = sorted(self._all(), key=lambda row: (row.cpu_pct or 0.0, row.rss_bytes), reverse=True)
        return rows[:limit]

    def _all(self) -> Iterator[ProcessRow]:
        import psutil  # a slow import, which few calls need

        now, used = time.monotonic(), {}
        for process in psutil.process_iter(_ASKED):
            key = (process.pid, process.info["create_time"] or 0.0)
            times = process.info["cpu_times"]
            used[key] = ((times.user + times.system) if times else 0.0, now)
            yield _row(process, _share(self._used.get(key), used[key]))
        self._used = used


def _share(before: tuple[float, float] | None, after: tuple[float, float]) -> float | None:
    if before is None or after[1] <= before[1]:
        return None
    return round(100 * max(0.0, after[0] - before[0]) / (after[1] - before[1]), 1)


def _row(process: "psutil.Process", cpu_pct: float | None) -> ProcessRow:
    told = process.info
    return ProcessRow(
        pid=process.pid,
        ppid=told["ppid"],
        user=told["username"] or "",
        comm=_comm(process.pid),
        rss_bytes=told["memory_info"].rss if told["memory_info"] else 0,
        cpu_pct=cpu_pct,
        threads=told["num_threads"],
        fds=told["num_fds"],
        state=told["status"],
        uptime_sec=round(max(0.0, time.time() - told["create_time"]), 1) if told["create_time"] else None,
    )


def _comm(pid: int) -> str:
    """Return the kernel's name of a process. Its command line is in its own memory, which may block when read."""
    try:
        return Path(f"/proc/{pid}/comm").read_bytes().decode("utf-8", "replace").rstrip("\n")
    except OSError:
        return ""
