"""How much a process has done so far: by which one that is slow is told from one that hangs."""

from pathlib import Path


def work_of(pid: int) -> int | None:
    """The processor's ticks that a process and its threads have used (proc(5), stat); None where this cannot be seen."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        times = stat.rpartition(b")")[2].split()[11:13]
        return sum(map(int, times))
    except (OSError, ValueError):
        return None
