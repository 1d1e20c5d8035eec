"""Resource usage of the container's control group, in either version of the kernel's interface.

Version 2 is one tree (Documentation/admin-guide/cgroup-v2.rst), version 1 a tree per controller (cgroup-v1/memory.rst).
Values that a kernel or an engine does not show are None.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = "/sys/fs/cgroup"
_UNLIMITED = 1 << 60
"""From here on, a limit of version 1 means "no limit"."""


@dataclass(frozen=True, slots=True)
class Cgroup:
    """Counters since the container started, and current usage, in bytes and microseconds."""

    cpu_usage_usec: int
    cpu_nr_periods: int | None
    cpu_nr_throttled: int | None
    cpu_throttled_usec: int | None
    mem_current_bytes: int
    mem_max_bytes: int | None
    oom: int | None
    """How often memory was at the limit with nothing left to reclaim."""
    oom_kill: int | None
    """How many processes were killed at the limit."""
    memory_anon_bytes: int | None
    memory_file_bytes: int | None
    memory_shmem_bytes: int | None
    memory_slab_bytes: int | None


def snapshot(root: str = ROOT) -> Cgroup:
    """Read the current values from a few small files."""
    return _version_2(Path(root)) if (Path(root) / "cgroup.controllers").exists() else _version_1(Path(root))


def _version_2(root: Path) -> Cgroup:
    cpu, memory, events = (_counters(root / name) for name in ("cpu.stat", "memory.stat", "memory.events"))
    return Cgroup(
        cpu_usage_usec=cpu.get("usage_usec", 0),
        cpu_nr_periods=cpu.get("nr_periods"),
        cpu_nr_throttled=cpu.get("nr_throttled"),
        cpu_throttled_usec=cpu.get("throttled_usec"),
        mem_current_bytes=_number(root / "memory.current") or 0,
        mem_max_bytes=_number(root / "memory.max"),
        oom=events.get("oom"),
        oom_kill=events.get("oom_kill"),
        memory_anon_bytes=memory.get("anon"),
        memory_file_bytes=memory.get("file"),
        memory_shmem_bytes=memory.get("shmem"),
        memory_slab_bytes=memory.get("slab"),
    )


def _version_1(root: Path) -> Cgroup:
    cpu, memory, control = (_counters(root / name) for name in ("cpu/cpu.stat", "memory/memory.stat", "memory/memory.oom_control"))
    limit, throttled = _number(root / "memory/memory.limit_in_bytes"), cpu.get("throttled_time")
    return Cgroup(
        cpu_usage_usec=(_number(root / "cpuacct/cpuacct.usage") or 0) // 1000,
        cpu_nr_periods=cpu.get("nr_periods"),
        cpu_nr_throttled=cpu.get("nr_throttled"),
        cpu_throttled_usec=None if throttled is None else throttled // 1000,
        mem_current_bytes=_number(root / "memory/memory.usage_in_bytes") or 0,
        mem_max_bytes=None if limit is None or limit >= _UNLIMITED else limit,
        oom=_number(root / "memory/memory.failcnt"),
        oom_kill=control.get("oom_kill"),
        memory_anon_bytes=memory.get("total_rss"),
        memory_file_bytes=memory.get("total_cache"),
        memory_shmem_bytes=memory.get("total_shmem"),
        memory_slab_bytes=_number(root / "memory/memory.kmem.usage_in_bytes"),
    )


def _counters(file: Path) -> Mapping[str, int]:
    """Parse lines of a name and a number; empty if the file cannot be read."""
    pairs = (line.split() for line in _text(file).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(file: Path) -> int | None:
    text = _text(file).strip()
    return int(text) if text.isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text("ascii")
    except OSError:
        return ""
