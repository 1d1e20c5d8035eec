from typing import Any

import pytest

from sandbox_server.core.diagnosis import Finding
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.features.box.checks import BoxChecks
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio

STATUS: dict[str, Any] = {
    "made": 2,
    "running": True,
    "failure": None,
    "processes": 4,
    "limits": {"processes": 1024, "memory": 1 << 30, "enforced": False},
    "disk": {"total_bytes": 1 << 30, "free_bytes": 1 << 29, "total_inodes": 10, "free_inodes": 5},
    "reserved": True,
    "incidents": [],
}
CULPRIT = {"session": "bash:b1", "command": "cat /dev/zero", "pid": 7, "uid": 1000}


async def found(daemon: FakeBox, quota: int = 1 << 30, **changed: Any) -> dict[str, Finding]:
    daemon.answers |= {"status": STATUS | changed, "list": {"head": None, "checkpoints": [{"bytes": 1 << 29}, {"bytes": None}]}}
    return {probe.name: await probe.look() for probe in BoxChecks(daemon, quota=quota).probes()}


async def test_a_box_within_its_limits_holds_everything_that_a_volume_is_not_needed_for(daemon: FakeBox) -> None:
    holding = {name for name, finding in (await found(daemon)).items() if finding.holds}
    assert holding == {"box", "box_limits", "box_reaper", "box_disk", "checkpoint_quota", "box_incidents"}


@pytest.mark.parametrize(
    ("changed", "lost", "detail"),
    [
        ({"limits": {"processes": 1024, "memory": None, "enforced": False}}, "box_limits", "no limit of memory"),
        ({"running": False, "failure": "no room"}, "box_reaper", "no room"),
        ({"reserved": False}, "box_disk", "not kept"),
        ({"incidents": [{"kind": "disk", "detail": "0 bytes free", "culprit": CULPRIT, "ended": None}]}, "box_incidents", "cat /dev/zero"),
    ],
)
async def test_what_is_lost_says_why(daemon: FakeBox, changed: dict[str, Any], lost: str, detail: str) -> None:
    finding = (await found(daemon, **changed))[lost]
    assert finding.holds is False
    assert detail in finding.detail


async def test_an_incident_that_is_over_is_none(daemon: FakeBox) -> None:
    over = {"kind": "disk", "detail": "", "culprit": None, "ended": 1.0}
    assert (await found(daemon, incidents=[over]))["box_incidents"].holds


async def test_a_quota_that_is_nearly_used_up_is_told(daemon: FakeBox) -> None:
    assert not (await found(daemon, quota=1 << 29))["checkpoint_quota"].holds


async def test_without_a_box_there_is_only_the_question_of_why() -> None:
    [probe] = BoxChecks(BoxClient("/nonexistent", Isolation("users", "EPERM", flags=("--security-opt seccomp=x",))), quota=1).probes()
    finding = await probe.look()
    assert (finding.holds, "EPERM" in finding.detail, "seccomp" in probe.hint) == (False, True, True)
