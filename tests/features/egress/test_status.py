from pathlib import Path

import pytest

from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.proposal import LearnedDestinations
from sandbox_server.features.egress.status import EgressStatusReader
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import Ruling, put

pytestmark = pytest.mark.anyio


def reader(client: EgressClient, ruling: Ruling, tmp_path: Path) -> EgressStatusReader:
    return EgressStatusReader(client, ruling.tasks, LearnedDestinations(JsonFile(str(tmp_path / "l.json"))), "rules")


async def test_it_says_what_is_enforced(lab: EgressLab, client: EgressClient, ruling: Ruling, tmp_path: Path) -> None:
    put(lab, {"default": "deny", "mode": "learn", "rules": [{"action": "deny", "hosts": ["a.example"]}]})
    await ruling.tasks.lease("t1", 60)
    status = await reader(client, ruling, tmp_path).egress_status()
    assert (status.enabled, status.running, status.reason, status.enforcement) == (True, True, "", "rules")
    assert (status.mode, status.default, status.rules, status.grants) == ("learn", "deny", 1, 0)
    assert [each.task for each in status.tasks] == ["t1"]


@pytest.mark.parametrize(("off", "enabled", "reason"), [("", True, "does not answer"), ("EGRESS is false", False, "EGRESS is false")])
async def test_where_nothing_is_enforced_or_nobody_answers_it_says_why(
    ruling: Ruling, tmp_path: Path, off: str, enabled: bool, reason: str
) -> None:
    status = await reader(EgressClient("/nowhere", off=off), ruling, tmp_path).egress_status()
    assert (status.enabled, status.running, status.mode) == (enabled, False, None)
    assert status.enforcement == ("rules" if enabled else "off")
    assert reason in status.reason
