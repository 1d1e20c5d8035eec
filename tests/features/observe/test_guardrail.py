from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox_server.features.observe.guardrail import Guardrail
from sandbox_server.features.observe.snapshots import ObservationCgroupSnapshot, ObservationDiskSnapshot, ObservationLiveSnapshot


def sample(disk: float = 0.0, inodes: float | None = None, **used: Any) -> ObservationLiveSnapshot:
    disks = [ObservationDiskSnapshot(path="/", used_bytes=1, total_bytes=2, free_bytes=1, usage_pct=disk, inode_usage_pct=inodes)]
    return ObservationLiveSnapshot(captured_at=datetime.now(UTC), mode="guardrail", cgroup=ObservationCgroupSnapshot(**used), disk=disks)


def kinds(guardrail: Guardrail, *samples: ObservationLiveSnapshot) -> list[list[str]]:
    return [[event.type for event in guardrail.events(one)] for one in samples]


@pytest.mark.parametrize(
    ("kind", "high", "middle", "low"),
    [
        ("memory_high", sample(mem_usage_pct=95), sample(mem_usage_pct=85), sample(mem_usage_pct=10)),
        ("disk_high", sample(disk=95), sample(disk=85), sample(disk=10)),
        ("inodes_high", sample(inodes=95), sample(inodes=85), sample(inodes=10)),
    ],
)
def test_what_stays_high_is_told_once_and_again_after_it_was_low(kind: str, high: Any, middle: Any, low: Any) -> None:
    assert kinds(Guardrail(), low, high, high, middle, high, low, high) == [[], [kind], [], [], [], [], [kind]]


def test_processes_that_were_killed_before_the_first_look_are_not_told() -> None:
    assert kinds(Guardrail(), sample(oom_kill=3), sample(oom_kill=3), sample(oom_kill=5)) == [[], [], ["oom_kill"]]


def test_a_container_that_waits_for_its_share_is_told_once() -> None:
    looks = [sample(cpu_nr_periods=periods, cpu_nr_throttled=waited) for periods, waited in ((0, 0), (10, 9), (20, 18), (30, 18), (40, 28))]
    assert kinds(Guardrail(), *looks) == [[], ["cpu_throttled"], [], [], ["cpu_throttled"]]


def test_an_event_says_how_much() -> None:
    [event] = Guardrail().events(sample(disk=91.5))
    assert "/" in event.message
    assert event.data == {"path": "/", "usage_pct": 91.5}
