"""Processor time of a process, which tells a slow process from a hung one."""

from pathlib import Path


def work_of(pid: int) -> int | None:
    """Return the clock ticks that a process and its threads have used (proc(5), stat); None if they cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        times = stat.rpartition(b")")[2].split()[11:13]
        return sum(map(int, times))
    except (OSError, ValueError):
        return None
