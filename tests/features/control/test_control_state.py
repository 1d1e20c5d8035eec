"""The state of the lease as callers see it."""

from pathlib import Path

import pytest

from sandbox_server.core import ALL_SCOPES, Caller
from sandbox_server.core.control import Reach
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.control_state import state_of
from sandbox_server.features.control.lease_keeper import actor_of
from sandbox_server.features.control.lease_state_machine import LeaseTimes
from tests.controls import driving

pytestmark = pytest.mark.anyio

ANN = Caller("ann", frozenset({"view", "control"}), person=True)
ROOT, GUEST, AGENT = Caller("root", ALL_SCOPES, person=True), Caller("guest", frozenset({"view"}), person=True), Caller("key", ALL_SCOPES)
GUI: frozenset[Reach] = frozenset({"gui", "cdp"})


async def test_each_caller_is_told_its_own_role_and_whether_it_drives(tmp_path: Path) -> None:
    async with driving(tmp_path) as keeper:
        await keeper.change("taken", actor_of(ANN), lambda lease, now: machine.take(lease, actor_of(ANN), GUI, now, viewing=True))
        seen = {caller.name: state_of(keeper, caller).you for caller in (ANN, ROOT, GUEST, AGENT)}
    assert {name: (you.role, you.driving) for name, you in seen.items()} == {
        "ann": ("control", True),
        "root": ("admin", False),
        "guest": ("view", False),
        "key": ("agent", False),
    }


async def test_who_is_private_alone_sees(tmp_path: Path) -> None:
    async with driving(tmp_path) as keeper:
        await keeper.change("private", actor_of(ANN), lambda lease, now: machine.hide(lease, actor_of(ANN), now, viewing=True))
        assert [state_of(keeper, caller).you.sees for caller in (ANN, ROOT, AGENT)] == [True, False, False]
        assert state_of(keeper, AGENT).private == "ann"


async def test_a_request_says_until_when_it_waits_and_viewers_are_listed_by_name(tmp_path: Path) -> None:
    async with driving(tmp_path, policy="ask", times=LeaseTimes(request=50), clock=lambda: 100.0) as keeper:
        with keeper.watching(ROOT), keeper.watching(ANN):
            await keeper.change(
                "requested", actor_of(ANN), lambda lease, now: machine.request(lease, actor_of(ANN), GUI, now, keeper.times)
            )
            shown = state_of(keeper, ANN)
    assert [(asked.subject, asked.scope, asked.ends_in) for asked in shown.requests] == [("ann", ["cdp", "gui"], 50.0)]
    assert [(viewer.name, viewer.you) for viewer in shown.viewers] == [("ann", True), ("root", False)]


async def test_an_earlier_lease_can_be_shown(tmp_path: Path) -> None:
    async with driving(tmp_path) as keeper:
        before = keeper.lease
        await keeper.change("frozen", actor_of(ANN), lambda lease, now: machine.freeze(lease, actor_of(ANN), now))
        assert (state_of(keeper, ANN).state, state_of(keeper, ANN, before).state) == ("frozen", "agent")


async def test_it_tells_when_the_first_program_calls_and_only_then(tmp_path: Path) -> None:
    async with driving(tmp_path) as keeper:
        assert state_of(keeper, ANN).agent_seen is False
        news = keeper.news(None)
        await anext(news)
        keeper.see_agent()
        keeper.see_agent()
        keeper.see_agent()
        with keeper.watching(ANN):
            assert [(await anext(news)).kind, (await anext(news)).kind] == ["connected", "came"]
        assert state_of(keeper, ANN).agent_seen is True
