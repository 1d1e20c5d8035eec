"""Samples of the container's resource usage."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from sandbox_server.drivers.stats import cgroup, disks
from sandbox_server.drivers.stats.cgroup import Cgroup
from sandbox_server.drivers.stats.disks import DiskUsage
from sandbox_server.drivers.stats.processes import ProcessRow, ProcessTable
from sandbox_server.features.observe.snapshots import (
    ObservationCgroupSnapshot,
    ObservationDiskSnapshot,
    ObservationLiveSnapshot,
    ObservationMode,
    ObservationProcessSnapshot,
)

MIB = 1 << 20
FIRST_LOOK_SECONDS = 0.2
"""Seconds between the two measurements of the first sample: processor usage is measured between two times."""


class Sampler:
    """Samples the container. Processor usage is relative to the last sample."""

    def __init__(self, paths: Sequence[str], root: str = cgroup.ROOT) -> None:
        self._paths = paths
        self._root = root
        self._table = ProcessTable()
        self._last: tuple[Cgroup, float] | None = None
        self._looking = asyncio.Lock()

    async def take(self, mode: ObservationMode, *, processes: int, disk: bool = True) -> ObservationLiveSnapshot:
        """Take a sample with at most `processes` processes. It reads /proc in a thread."""
        async with self._looking:
            if self._last is None:
                await asyncio.to_thread(self._look, mode, processes, disk)
                await asyncio.sleep(FIRST_LOOK_SECONDS)
            return await asyncio.to_thread(self._look, mode, processes, disk)

    def _look(self, mode: ObservationMode, processes: int, disk: bool) -> ObservationLiveSnapshot:
        found, now = cgroup.snapshot(self._root), time.monotonic()
        before, self._last = self._last, (found, now)
        return ObservationLiveSnapshot(
            captured_at=datetime.now(UTC),
            mode=mode,
            cgroup=_cgroup(found, before, now),
            disk=[_disk(one) for one in disks.snapshot(self._paths)] if disk else [],
            top_processes=[_process(row) for row in self._table.rows(processes)] if processes else [],
        )


def _cgroup(found: Cgroup, before: tuple[Cgroup, float] | None, now: float) -> ObservationCgroupSnapshot:
    share = None
    if before and now > before[1]:
        share = round((found.cpu_usage_usec - before[0].cpu_usage_usec) / 1e4 / (now - before[1]), 1)
    return ObservationCgroupSnapshot(
        **asdict(found), cpu_usage_pct=share, mem_usage_pct=_percent(found.mem_current_bytes, found.mem_max_bytes)
    )


def _disk(found: DiskUsage) -> ObservationDiskSnapshot:
    usable = found.used_bytes + found.free_bytes  # space reserved for root counts as neither
    return ObservationDiskSnapshot(
        **asdict(found),
        usage_pct=_percent(found.used_bytes, usable) or 0.0,
        inode_usage_pct=None if found.inode_used is None else _percent(found.inode_used, found.inode_total),
    )


def _process(row: ProcessRow) -> ObservationProcessSnapshot:
    return ObservationProcessSnapshot(**asdict(row), rss_mib=round(row.rss_bytes / MIB, 1))


def _percent(part: int, whole: int | None) -> float | None:
    return round(100 * part / whole, 1) if whole else None
