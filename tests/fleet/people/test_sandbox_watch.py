"""What one sandbox asks, and who drives it."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from tandem_fleet.people import sandbox_watch
from tandem_fleet.people.answers import UnusableAnswer
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.people.sandbox_watch import Driver, SandboxWatch, driver_of

from tests.fleet.people.sandboxes import ready
from tests.fleet.stub_sandbox import StubSandbox, control, handoff
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@dataclass
class Heard:
    """What was told."""

    changes: list[str] = field(default_factory=list)


@pytest.fixture
async def heard() -> Heard:
    """Nothing yet."""
    return Heard()


@pytest.fixture
async def watch(stub: StubSandbox, calls: SandboxCalls, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SandboxWatch]:
    """A watch that does not wait long."""
    monkeypatch.setattr(sandbox_watch, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(sandbox_watch, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(sandbox_watch, "BETWEEN_EVENTS", 0.0)
    made = SandboxWatch(ready(stub.address), calls, lambda: heard.changes.append("changed"), lambda: heard.changes.append("asked"))
    yield made
    await made.close()


async def test_questions_come_and_go_and_who_drives_is_known(watch: SandboxWatch, stub: StubSandbox, heard: Heard) -> None:
    await eventually(lambda: watch.driver == Driver(state="agent"))
    stub.handoffs = [handoff()]
    stub.control = control("human", "Ann\u202e", "Ann")
    stub.tell()
    await eventually(lambda: watch.questions and watch.driver and watch.driver.state == "human")
    assert watch.driver == Driver(state="human", holder="Ann", private=True)
    stub.handoffs = []
    stub.tell()
    await eventually(lambda: not watch.questions)
    assert heard.changes.count("asked") == 2


async def test_nobody_counts_as_a_viewer_by_it(watch: SandboxWatch, stub: StubSandbox) -> None:
    await eventually(lambda: stub.came("GET /v1/control"))
    assert {one.path for one in stub.came("GET /v1/control")} == {"/v1/control/events?viewing=false"}


@pytest.mark.parametrize(
    "odd", [b"event: handoffs\ndata: {}\n\n", b"event: handoffs\ndata: [\n\n", b"data: " + b"x" * 2_000_000, b"\xff\x00"]
)
async def test_a_sandbox_that_sends_something_else_asks_nothing_and_is_asked_again(
    watch: SandboxWatch, stub: StubSandbox, odd: bytes
) -> None:
    stub.handoffs = [handoff()]
    stub.tell()
    await eventually(lambda: watch.questions)
    stub.handoffs, came = odd, len(stub.came("GET /v1/handoffs"))
    stub.answers["GET /v1/control"] = (404, {})
    stub.tell()
    if odd != b"\xff\x00":
        await eventually(lambda: len(stub.came("GET /v1/handoffs")) > came + 1)
        assert not watch.questions
    stub.handoffs = [handoff("h-2")]
    stub.tell()
    await eventually(lambda: watch.questions and watch.questions[0].id.endswith("h-2"))


@pytest.mark.parametrize("told", [7, [], {}, {"control": None}, {"control": {"state": "king"}}, {"control": {"state": ["agent"]}}])
def test_what_does_not_say_who_drives_is_refused(told: object) -> None:
    with pytest.raises(UnusableAnswer):
        driver_of(json.dumps(told).encode())
