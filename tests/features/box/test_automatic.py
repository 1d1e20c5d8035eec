import asyncio

import pytest

from sandbox_server.core import Model, operation
from sandbox_server.core.control import Holding, Reach
from sandbox_server.core.operation import Operation, operations
from sandbox_server.features.box.automatic import AutomaticCheckpoints, When
from sandbox_server.features.box.checkpoints import Checkpoints
from sandbox_server.features.box.renewal import Renewal
from tests.features.box.conftest import CALL, FakeBox

pytestmark = pytest.mark.anyio


class Request(Model):
    recursive: bool = False


class Work:
    """One operation that is risky where it is recursive, and one that never is."""

    tag = "work"

    @operation("POST /v1/work", scope="shell", risky=lambda request: request.recursive)
    async def work(self, request: Request) -> None:
        """Do something."""

    @operation("POST /v1/safe", scope="shell")
    async def rest(self, request: Request) -> None:
        """Do nothing."""


WORK, REST = operations(Work())
NOBODY = Holding()


async def asked(
    daemon: FakeBox,
    renewal: Renewal,
    when: When,
    *,
    busy: bool = False,
    called: Operation = WORK,
    recursive: bool = True,
    holding: Holding = NOBODY,
) -> bool:
    """Whether the daemon was asked for a checkpoint; the operation itself is always carried out."""
    daemon.answers.setdefault("list", {"head": None, "checkpoints": []})
    daemon.answers["checkpoint"] = {"checkpoint": None, "stopped": [], "unchanged": True}
    automatic = AutomaticCheckpoints(Checkpoints(daemon, renewal, quota=100), when=when, busy=lambda: busy, holding=lambda: holding)
    done = asyncio.Event()

    async def proceed() -> object:
        done.set()
        return None

    await automatic.guard(called, Request(recursive=recursive), CALL, proceed)
    assert done.is_set()
    return "checkpoint" in daemon.operations()


@pytest.mark.parametrize(
    ("when", "busy", "made"), [("never", False, False), ("idle", False, True), ("idle", True, False), ("always", True, True)]
)
async def test_it_is_made_when_the_setting_says(daemon: FakeBox, renewal: Renewal, when: When, busy: bool, made: bool) -> None:
    assert await asked(daemon, renewal, when, busy=busy) is made


async def test_only_a_risky_request_of_a_risky_operation_has_one(daemon: FakeBox, renewal: Renewal) -> None:
    assert not await asked(daemon, renewal, "always", recursive=False)
    assert not await asked(daemon, renewal, "always", called=REST)


async def test_it_says_what_it_was_made_for_and_only_keeps_changes(daemon: FakeBox, renewal: Renewal) -> None:
    await asked(daemon, renewal, "always")
    [fields] = [fields for name, fields in daemon.asked if name == "checkpoint"]
    assert fields == {"label": "before work.work", "who": "someone", "why": "before_risk", "if_changed": True}


async def test_where_none_can_be_made_the_operation_goes_on(daemon: FakeBox, renewal: Renewal, caplog: pytest.LogCaptureFixture) -> None:
    full = {"id": "a", "parent": None, "label": "", "who": "me", "why": "asked", "created": 1.0, "files": 1, "bytes": 100}
    daemon.answers["list"] = {"head": "a", "checkpoints": [full]}
    assert not await asked(daemon, renewal, "always")
    assert "no checkpoint could be made before work.work" in caplog.text


@pytest.mark.parametrize("reach", ["shell", "gui", "cdp"])
async def test_none_is_made_while_a_person_holds_what_ends_with_the_box(daemon: FakeBox, renewal: Renewal, reach: Reach) -> None:
    held = Holding(2, "human", "ann", frozenset({reach}))
    assert not await asked(daemon, renewal, "always", holding=held)
