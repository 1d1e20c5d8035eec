"""A snapshot of the container's resource usage: control group, disks, processes, and events."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from sandbox_server.core import Model

type ObservationMode = Literal["off", "guardrail", "capture"]


class ObservationCgroupSnapshot(Model):
    """Usage of the container's control group. Values that this host does not show are null."""

    cpu_usage_pct: float | None = None
    """Percent of one processor since the last sample."""
    cpu_usage_usec: int = 0
    cpu_nr_periods: int | None = None
    cpu_nr_throttled: int | None = None
    cpu_throttled_usec: int | None = None
    mem_current_bytes: int = 0
    mem_max_bytes: int | None = None
    """Null if there is no limit."""
    mem_usage_pct: float | None = None
    oom: int | None = None
    """How often memory reached the limit."""
    oom_kill: int | None = None
    """How many processes were killed at the limit."""
    memory_anon_bytes: int | None = None
    memory_file_bytes: int | None = None
    memory_shmem_bytes: int | None = None
    memory_slab_bytes: int | None = None


class ObservationDiskSnapshot(Model):
    """One filesystem."""

    path: str
    used_bytes: int
    total_bytes: int
    free_bytes: int
    """Available to the agent."""
    usage_pct: float
    inode_used: int | None = None
    inode_total: int | None = None
    inode_usage_pct: float | None = None


class ObservationProcessSnapshot(Model):
    """One process. Values that the kernel hides of other users' processes are null."""

    pid: int
    user: str
    comm: str
    rss_bytes: int
    rss_mib: float
    cpu_pct: float | None = None
    """Percent of one processor since the last sample."""
    threads: int | None = None
    fds: int | None = None
    state: str | None = None
    uptime_sec: float | None = None
    ppid: int | None = None


class ObservationEvent(Model):
    """A noteworthy event."""

    ts: datetime
    type: str
    """`memory_high`, `oom_kill`, `cpu_throttled`, `disk_high`, `inodes_high`, `sample_failed` or `capture_full`."""
    message: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class ObservationLiveSnapshot(Model):
    captured_at: datetime
    mode: ObservationMode
    cgroup: ObservationCgroupSnapshot
    disk: list[ObservationDiskSnapshot] = Field(default_factory=list)
    top_processes: list[ObservationProcessSnapshot] = Field(default_factory=list)
    recent_events: list[ObservationEvent] = Field(default_factory=list)
    """Oldest first."""
