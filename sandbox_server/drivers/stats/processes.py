"""The processes of the container, with what they have used since they were last looked at."""

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
    """One process. What the kernel does not tell this process about it is None."""

    pid: int
    ppid: int | None
    user: str
    comm: str
    rss_bytes: int
    cpu_pct: float | None
    """Share of one processor since the last look, in percent; None at the first."""
    threads: int | None
    fds: int | None
    """Open descriptors; only of processes of the server's own user."""
    state: str | None
    uptime_sec: float | None


class ProcessTable:
    """Looks at all processes; remembers how much processor time each had used, to tell how much it uses."""

    def __init__(self) -> None:
        self._used: dict[tuple[int, float], tuple[float, float]] = {}
        """Seconds of processor time, and when that was, by pid and start."""

    def rows(self, limit: int) -> list[ProcessRow]:
        """The `limit` processes that use most: processor first, then memory. Reads all of /proc: some milliseconds, in a thread."""
        rows = sorted(self._all(), key=lambda row: (row.cpu_pct or 0.0, row.rss_bytes), reverse=True)
        return rows[:limit]

    def _all(self) -> Iterator[ProcessRow]:
        import psutil  # heavy, and only needed when somebody looks

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
    """The name that the kernel has for a process; its command line lies in its own memory, and to read that may take for ever."""
    try:
        return Path(f"/proc/{pid}/comm").read_bytes().decode("utf-8", "replace").rstrip("\n")
    except OSError:
        return ""
