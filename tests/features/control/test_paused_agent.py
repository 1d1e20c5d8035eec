"""Pausing the agent: what stands still, for how long, and who is told."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, PermissionDenied, Unavailable
from sandbox_server.core.control import ALL_REACHES
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.control import ControlLease, FreezeControl, ReleaseControl, WantControl
from sandbox_server.features.control.control_state import ControlState
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.control.lease_state_machine import LeaseTimes
from sandbox_server.features.control.paused_agent import AgentPause, PausedAgent, told_of

pytestmark = pytest.mark.anyio
ANN = Call(Caller("ann", frozenset({"view", "control"}), person=True), "r1")
AGENT = Call(Caller("key", frozenset({"view", "control"})), "r2")


class Programs:
    """Twelve programs of the agent's."""

    def __init__(self) -> None:
        self.standing = False
        self.boxed = True
        self.asked = asyncio.Event()

    async def pause(self) -> dict[str, Any] | None:
        """Stop them."""
        self.standing = self.boxed
        return await self.state()

    async def resume(self) -> dict[str, Any] | None:
        """Let them go on."""
        self.standing = False
        return await self.state()

    async def state(self) -> dict[str, Any] | None:
        """Tell of them."""
        self.asked.set()
        return {"paused": self.standing, "count": 12, "names": ["bash", "python3"]} if self.boxed else None


class Site:
    """The lease with programs that it pauses."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self.programs = programs
        pause = AgentPause(programs)
        self.keeper = LeaseKeeper(JsonFile(str(folder / "control.json")), LeaseTimes(), "implicit", [], pause=pause)
        self.lease = ControlLease(self.keeper, pause=pause)

    async def freeze(self, programs: str = "stop", call: Call = ANN) -> ControlState:
        """Pause the agent."""
        state: ControlState = await self.lease.freeze_control(FreezeControl.model_validate({"programs": programs}), call)
        return state


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    found = Site(tmp_path, Programs())
    async with found.keeper:
        yield found


async def test_a_pause_stops_new_acts_and_programs_and_says_which_and_a_thaw_undoes_both(site: Site) -> None:
    paused = await site.freeze()
    assert (paused.state, paused.paused, site.programs.standing) == ("frozen", PausedAgent(count=12, names=["bash", "python3"]), True)
    resumed = await site.lease.thaw_control(ANN)
    assert (resumed.state, resumed.paused, site.programs.standing) == ("agent", None, False)


async def test_new_acts_alone_can_be_stopped_and_programs_later(site: Site) -> None:
    assert (await site.freeze("leave")).paused is None
    assert not site.programs.standing
    assert (await site.freeze()).paused


async def test_a_person_takes_control_from_a_pause_and_the_programs_stand_still_until_it_is_given_back(site: Site) -> None:
    await site.freeze()
    taken = await site.lease.take_control(WantControl(scope=["gui"]), ANN)
    assert (taken.state, taken.scope, site.programs.standing) == ("human", ["cdp", "gui", "shell"], True)
    assert taken.paused
    released = await site.lease.release_control(ReleaseControl(), ANN)
    assert (released.state, released.paused, site.programs.standing) == ("agent", None, False)


async def test_who_has_control_lets_the_programs_go_on_and_keeps_it(site: Site) -> None:
    await site.freeze()
    await site.lease.take_control(WantControl(), ANN)
    assert (await site.lease.thaw_control(AGENT)).paused, "a program does not"
    resumed = await site.lease.thaw_control(ANN)
    assert (resumed.state, resumed.holder, site.programs.standing) == ("human", "ann", False)


async def test_whoever_watches_is_told_who_paused_and_what_was_stopped(site: Site) -> None:
    news = site.keeper.news(None)
    assert (await anext(news)).kind == "state"
    await site.freeze()
    async with asyncio.timeout(30):
        told = [await anext(news), await anext(news)]
    assert [(one.kind, one.by, one.note) for one in told] == [
        ("frozen", "ann", ""),
        ("paused", "ann", "12 programs stopped: bash, python3"),
    ]


async def test_without_a_box_programs_go_on_and_that_is_told(site: Site) -> None:
    site.programs.boxed = False
    assert (await site.freeze()).paused is None
    assert (await site.lease.thaw_control(ANN)).state == "agent"


async def test_programs_that_cannot_be_stopped_are_an_error_and_new_acts_are_stopped_all_the_same(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise Unavailable("no daemon", retry_after=1.0)

    monkeypatch.setattr(site.programs, "pause", fail)
    with pytest.raises(Unavailable):
        await site.freeze()
    assert site.keeper.lease.state == "frozen"


async def test_what_was_stopped_without_an_answer_in_time_goes_on_with_a_thaw(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stop_and_fail() -> None:
        site.programs.standing = True
        raise Unavailable("too slow", retry_after=1.0)

    monkeypatch.setattr(site.programs, "pause", stop_and_fail)
    with pytest.raises(Unavailable):
        await site.freeze()
    assert (await site.lease.thaw_control(ANN)).state == "agent"
    assert not site.programs.standing


async def test_a_server_that_starts_anew_knows_what_stands_still(site: Site, tmp_path: Path) -> None:
    await site.freeze()
    site.programs.asked.clear()
    again = Site(tmp_path, site.programs)
    async with again.keeper:
        async with asyncio.timeout(30):
            await site.programs.asked.wait()
        assert (await again.lease.thaw_control(ANN)).paused is None
    assert not site.programs.standing


def test_a_person_takes_everything_from_a_freeze_and_nothing_of_it_goes_to_the_agent() -> None:
    frozen = machine.freeze(machine.Lease(), machine.LeaseActor("bob", person=True), 1)
    taken = machine.take(frozen, machine.LeaseActor("ann", person=True), frozenset({"gui"}), 2, viewing=True)
    assert (taken.state, taken.holding.holder, taken.holding.reach) == ("human", "ann", ALL_REACHES)
    assert not any(taken.holding.admits(AGENT.caller, reach) for reach in ALL_REACHES)
    with pytest.raises(PermissionDenied):
        machine.take(frozen, machine.LeaseActor("key", person=False), frozenset({"gui"}), 2, viewing=True)


def test_what_was_stopped_is_said_in_words() -> None:
    assert told_of(None) == "its programs go on"
    assert told_of(PausedAgent(count=0, names=[])) == "no programs were running"
    assert told_of(PausedAgent(count=1, names=["bash"])) == "1 program stopped: bash"
