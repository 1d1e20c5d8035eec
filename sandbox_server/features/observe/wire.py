"""What observations look like on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model

type ObservationMode = Literal["off", "guardrail", "capture"]
type IdempotencyKey = Annotated[str, Field(max_length=128)]


class ObservationCgroupSnapshot(Model):
    """What the container's control group has used. What this host does not show is null."""

    cpu_usage_pct: float | None = None
    """Percent of one processor since the last look."""
    cpu_usage_usec: int = 0
    cpu_nr_periods: int | None = None
    cpu_nr_throttled: int | None = None
    cpu_throttled_usec: int | None = None
    mem_current_bytes: int = 0
    mem_max_bytes: int | None = None
    """Null where there is no limit."""
    mem_usage_pct: float | None = None
    oom: int | None = None
    """How often memory ran into the limit."""
    oom_kill: int | None = None
    """How many processes were killed for it."""
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
    """Free to the agent."""
    usage_pct: float
    inode_used: int | None = None
    inode_total: int | None = None
    inode_usage_pct: float | None = None


class ObservationProcessSnapshot(Model):
    """One process. What the kernel does not tell of another user's process is null."""

    pid: int
    user: str
    comm: str
    rss_bytes: int
    rss_mib: float
    cpu_pct: float | None = None
    """Percent of one processor since the last look."""
    threads: int | None = None
    fds: int | None = None
    state: str | None = None
    uptime_sec: float | None = None
    ppid: int | None = None


class ObservationEvent(Model):
    """Something worth a look."""

    ts: datetime
    type: str
    """`memory_high`, `oom_kill`, `cpu_throttled`, `disk_high`, `inodes_high`, `sample_failed` or `capture_full`."""
    message: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class ObserveLiveRequest(Model):
    top_rows: Annotated[int, Field(ge=0, le=200)] = 10
    """How many processes to list, those that use most first."""


class ObservationLiveSnapshot(Model):
    captured_at: datetime
    mode: ObservationMode
    cgroup: ObservationCgroupSnapshot
    disk: list[ObservationDiskSnapshot] = Field(default_factory=list)
    top_processes: list[ObservationProcessSnapshot] = Field(default_factory=list)
    recent_events: list[ObservationEvent] = Field(default_factory=list)
    """Oldest first."""


class ObservationStatus(Model):
    mode: ObservationMode
    running: bool
    session_id: str | None = None
    started_at: datetime | None = None
    ends_at: datetime | None = None
    interval_seconds: float | None = None
    last_sample_at: datetime | None = None
    runtime_dir: str | None = None
    report_count: int = 0


class ObserveStartRequest(Model):
    mode: Literal["guardrail", "capture"] = "capture"
    """`guardrail` keeps events and the last samples; `capture` keeps every sample for a report."""
    idempotency_key: IdempotencyKey | None = None
    """The same key gives the same session, while that is known."""
    duration_seconds: Annotated[int, Field(ge=1, le=604_800)] | None = None
    """When it ends by itself. Default: 600 for `capture`, never for `guardrail`."""
    interval_seconds: Annotated[float, Field(ge=0.2, le=3600)] | None = None
    """Between two samples. Default: 1 for `capture`, 5 for `guardrail`."""
    include_processes: bool | None = None
    """Whether samples list processes. Default: those of `capture` do."""
    include_disk: bool = True


class ObservationStartResult(Model):
    session_id: str
    mode: ObservationMode
    started_at: datetime
    ends_at: datetime | None = None
    interval_seconds: float
    runtime_dir: str
    """Where samples and reports are kept; nobody but the sandbox may enter it."""


class ObserveStopRequest(Model):
    session_id: str | None = None
    """Which session; without it the one that runs."""


class ObservationStopResult(Model):
    session_id: str
    stopped: bool
    """False if it had ended before."""
    report_ready: bool
    """Whether there is something to export."""


class ObserveExportRequest(Model):
    idempotency_key: IdempotencyKey | None = None
    """The same key gives the same report, while that is kept."""
    session_id: str | None = None
    """Which session; without it the one that runs, or the last."""
    reason: Annotated[str, Field(max_length=200)] = "manual"


class ReportRef(Model):
    report_id: str


class ObservationReport(Model):
    report_id: str
    session_id: str | None = None
    reason: str = "manual"
    created_at: datetime
    path: str
    """Where it is kept. Download it to read it: nobody but the sandbox may enter that directory."""
    size_bytes: int
