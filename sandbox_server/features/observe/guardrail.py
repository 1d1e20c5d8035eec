"""Compares consecutive samples, and returns events for what got worse."""

from collections.abc import Iterator

from sandbox_server.features.observe.snapshots import ObservationDiskSnapshot, ObservationEvent, ObservationLiveSnapshot

HIGH = 90.0
"""Percent of a limit that causes an event."""
LOW = 80.0
"""Percent below which the next rise causes an event again."""
THROTTLED_SHARE = 0.25
"""Share of the scheduler's periods in which the container was throttled."""


class Guardrail:
    """Reports what got worse from sample to sample. A lasting condition is reported once."""

    def __init__(self) -> None:
        self._before: ObservationLiveSnapshot | None = None
        self._high: set[str] = set()

    def events(self, sample: ObservationLiveSnapshot) -> list[ObservationEvent]:
        """Compare a sample with the one before."""
        found = [*self._memory(sample), *self._cpu(sample), *(event for disk in sample.disk for event in self._disk(sample, disk))]
        self._before = sample
        return found

    def _memory(self, sample: ObservationLiveSnapshot) -> Iterator[ObservationEvent]:
        now = sample.cgroup
        if self._rises("memory", now.mem_usage_pct):
            yield _event(sample, "memory_high", f"memory is at {now.mem_usage_pct} % of its limit", mem_usage_pct=now.mem_usage_pct)
        killed = (now.oom_kill or 0) - ((self._before.cgroup.oom_kill or 0) if self._before else now.oom_kill or 0)
        if killed > 0:
            yield _event(sample, "oom_kill", f"the kernel killed {killed} processes for want of memory", killed=killed)

    def _cpu(self, sample: ObservationLiveSnapshot) -> Iterator[ObservationEvent]:
        if self._before is None:
            return
        now, before = sample.cgroup, self._before.cgroup
        periods = (now.cpu_nr_periods or 0) - (before.cpu_nr_periods or 0)
        throttled = (now.cpu_nr_throttled or 0) - (before.cpu_nr_throttled or 0)
        share = throttled / periods if periods > 0 else 0.0
        if share < THROTTLED_SHARE:
            self._high.discard("cpu")
        elif "cpu" not in self._high:
            self._high.add("cpu")
            yield _event(
                sample, "cpu_throttled", f"the container waited for its processor share in {share:.0%} of the periods", share=share
            )

    def _disk(self, sample: ObservationLiveSnapshot, disk: ObservationDiskSnapshot) -> Iterator[ObservationEvent]:
        if self._rises(f"disk {disk.path}", disk.usage_pct):
            yield _event(sample, "disk_high", f"{disk.path} is full to {disk.usage_pct} %", path=disk.path, usage_pct=disk.usage_pct)
        if self._rises(f"inodes {disk.path}", disk.inode_usage_pct):
            message = f"{disk.path} has used {disk.inode_usage_pct} % of its inodes"
            yield _event(sample, "inodes_high", message, path=disk.path, inode_usage_pct=disk.inode_usage_pct)

    def _rises(self, name: str, percent: float | None) -> bool:
        if percent is None or percent < LOW:
            self._high.discard(name)
        elif percent >= HIGH and name not in self._high:
            self._high.add(name)
            return True
        return False


def _event(sample: ObservationLiveSnapshot, kind: str, message: str, **found: object) -> ObservationEvent:
    return ObservationEvent(ts=sample.captured_at, type=kind, message=message, data=found)
