"""Samples without a machine under them: what is looked at is what the test says."""

from datetime import UTC, datetime

import pytest

from sandbox_server.features.observe.sampler import Sampler
from sandbox_server.features.observe.snapshots import ObservationCgroupSnapshot, ObservationLiveSnapshot, ObservationMode


class Told(Sampler):
    """Gives the memory usage that it is told to, and counts; a sample fails while `broken`."""

    def __init__(self) -> None:
        super().__init__(())
        self.memory = 0.0
        self.taken = 0
        self.broken = False

    async def take(self, mode: ObservationMode, *, processes: int, disk: bool = True) -> ObservationLiveSnapshot:
        """Count it."""
        if self.broken:
            raise OSError(28, "No space left on device")
        self.taken += 1
        return ObservationLiveSnapshot(
            captured_at=datetime.now(UTC), mode=mode, cgroup=ObservationCgroupSnapshot(mem_usage_pct=self.memory), disk=[]
        )


@pytest.fixture
def sampler() -> Told:
    return Told()
