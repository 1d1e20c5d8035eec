import pytest

from sandbox_server.features.box.itself import BoxItself
from sandbox_server.features.box.renewal import Renewal
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio


async def test_a_restart_says_what_ended_and_what_is_opened_again(daemon: FakeBox, renewal: Renewal) -> None:
    daemon.answers["replace"] = {"stopped": [{"pid": 2, "uid": 0, "command": "bomb"}]}
    done = await BoxItself(daemon, renewal).restart_box()
    assert (done.stopped[0].command, done.reopened, daemon.operations()[0]) == ("bomb", ["s1"], "replace")


async def test_the_status_says_who_met_which_limit(daemon: FakeBox, renewal: Renewal) -> None:
    culprit = {"session": "shell:s1", "command": "bomb", "pid": 9, "uid": 1000}
    incident = {"id": 1, "kind": "processes", "detail": "1020 of 1024", "hint": "restart", "culprit": culprit, "began": 1.0, "ended": None}
    daemon.answers["status"] = {
        "running": True,
        "failure": None,
        "frozen": False,
        "made": 3,
        "head": "a",
        "processes": 5,
        "limits": {"processes": 1024, "memory": None, "enforced": False},
        "disk": {"total_bytes": 2, "free_bytes": 1, "total_inodes": 0, "free_inodes": 0},
        "reserved": True,
        "incidents": [incident],
    }
    status = await BoxItself(daemon, renewal).box_status()
    assert status.incidents[0].culprit
    assert (status.incidents[0].culprit.session, status.limits.processes, status.head) == ("shell:s1", 1024, "a")
