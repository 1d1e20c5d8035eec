from pathlib import Path

import pytest

from sandbox_server.drivers.egress.egress_client import EgressClient, EgressEvent
from sandbox_server.features.egress import follower as follower_module
from sandbox_server.features.egress.follower import EgressFollower
from tests.egress.conftest import EgressLab
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Listener:
    """What happens."""

    def __init__(self) -> None:
        self.events: list[EgressEvent] = []
        self.moves: list[str] = []
        self.prepared = 0

    async def prepare(self) -> None:
        """Note that the process has come."""
        self.prepared += 1

    def follower(self, client: EgressClient) -> EgressFollower:
        """What tells this."""
        return EgressFollower(client, (self.prepare,), (self.events.append,), self.moves.append)


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    monkeypatch.setattr(follower_module, "AGAIN_SECONDS", 0.02)
    monkeypatch.setattr(follower_module, "MOST_SECONDS", 0.02)
    return Listener()


async def test_events_are_heard_once_the_process_knows_what_holds(lab: EgressLab, client: EgressClient, listener: Listener) -> None:
    async with listener.follower(client) as follower:
        await eventually(lambda: not follower.away)
        lab.server.events.publish("dns", name="a.example")
        await eventually(lambda: listener.events)
    assert (listener.prepared, listener.moves) == (1, [""])
    assert listener.events[0]["name"] == "a.example"


async def test_a_process_that_goes_and_comes_back_is_followed_again(lab: EgressLab, tmp_path: Path, listener: Listener) -> None:
    path = str(tmp_path / "egress.sock")
    async with listener.follower(EgressClient(path)) as follower:
        await eventually(lambda: "No such file" in follower.away)
        for number in (1, 2):
            server = await lab.server.control(path)
            await eventually(lambda: not follower.away)
            assert listener.prepared == number
            server.close()
            server.close_clients()
            await eventually(lambda: follower.away)
    assert [bool(move) for move in listener.moves] == [False, True, False, True]


async def test_what_happens_while_nobody_follows_is_heard_once(lab: EgressLab, tmp_path: Path, listener: Listener) -> None:
    path = str(tmp_path / "egress.sock")
    async with EgressFollower(EgressClient(path), (), (listener.events.append,), listener.moves.append, "connections") as follower:
        for name in ("first", "second"):
            lab.server.events.publish("refused", name=name)
            server = await lab.server.control(path)
            await eventually(lambda: listener.events)
            assert [event["name"] for event in listener.events] == [name]
            listener.events.clear()
            server.close()
            server.close_clients()
            await eventually(lambda: follower.away)


async def test_only_what_was_lost_is_taken_anew(lab: EgressLab, client: EgressClient, listener: Listener) -> None:
    async def resync() -> None:
        listener.prepared += 1

    hears, lost = (listener.events.append,), {"open": resync, "close": resync}
    async with EgressFollower(client, (), hears, listener.moves.append, "connections", lost) as follower:
        await eventually(lambda: not follower.away)
        for kinds in (("refused",), ("open", "close", "refused")):
            for kind in kinds:
                for number in range(2000):  # without a pause, so that nothing is sent meanwhile
                    lab.server.events.publish(kind, id=number)
            lab.server.events.publish("dns", name="last")
            await eventually(lambda: listener.events and listener.events[-1].get("name") == "last")
            assert listener.events[0]["kinds"] == sorted(kinds)
            assert listener.prepared == (1 if "open" in kinds else 0)
            listener.events.clear()


async def test_an_event_that_is_not_whole_ends_nothing(lab: EgressLab, client: EgressClient, listener: Listener) -> None:
    def fail(event: EgressEvent) -> None:
        raise KeyError(event["event"])

    async with EgressFollower(client, (), (fail, listener.events.append), listener.moves.append) as follower:
        await eventually(lambda: not follower.away)
        lab.server.events.publish("dns")
        await eventually(lambda: listener.events)
        assert not follower.away


async def test_without_a_policy_nobody_is_followed(listener: Listener) -> None:
    async with listener.follower(EgressClient("/nowhere", off="off")) as follower:
        assert not follower._tasks._running
