"""The operations of control."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, Conflict, HeldByHuman, PermissionDenied
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.operation import operations
from sandbox_server.features.control.driving import Driving
from sandbox_server.features.control.feature import ControlLease
from sandbox_server.features.control.wire import ControlChange, ControlState
from tests.controls import driving

pytestmark = pytest.mark.anyio

DRIVER = frozenset({"view", "control"})
ANN, BOB = Caller("ann", DRIVER, person=True), Caller("bob", DRIVER, person=True)
GUEST = Caller("guest", frozenset({"view"}), person=True)
ADMIN, AGENT = Caller("root", ALL_SCOPES, person=True), Caller("key", ALL_SCOPES)


class Desk:
    """Calls operations as somebody."""

    def __init__(self, found: Driving) -> None:
        self.driving = found
        self._operations = {each.spec.name: each for each in operations(ControlLease(found))}
        self._dispatcher = Dispatcher([require_scope])

    async def ask(self, caller: Caller, name: str, **fields: object) -> ControlState:
        answer = await self._dispatcher.call(self._operations[f"{name}_control"], fields, Call(caller, "request"))
        assert isinstance(answer, ControlState)
        return answer

    async def state(self, caller: Caller = AGENT) -> ControlState:
        answer = await self._dispatcher.call(self._operations["control_state"], {}, Call(caller, "request"))
        assert isinstance(answer, ControlState)
        return answer

    async def events(self, caller: Caller, after: str | None = None) -> AsyncIterator[Any]:
        call = Call(caller, "request", last_event_id=after)
        return await self._dispatcher.stream(self._operations["control_events"], {}, call)

    async def refuse(self, caller: Caller, subject: str) -> None:
        await self._dispatcher.call(self._operations["refuse_request"], {"subject": subject}, Call(caller, "request"))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with driving(tmp_path) as found:
        yield Desk(found)


async def next_change(events: AsyncIterator[Any]) -> ControlChange:
    async with asyncio.timeout(30):
        event = await anext(events)
    assert event.event == "control"
    assert isinstance(event.data, ControlChange)
    return event.data


async def test_at_first_the_agent_drives(desk: Desk) -> None:
    state = await desk.state(AGENT)
    assert (state.state, state.holder, state.epoch, state.returning) == ("agent", None, 1, None)
    assert (state.you.role, state.you.driving) == ("agent", True)
    assert ((await desk.state(GUEST)).you.role, (await desk.state(ANN)).you.role, (await desk.state(ADMIN)).you.role) == (
        "view",
        "control",
        "admin",
    )


async def test_a_person_takes_it_and_gives_it_back(desk: Desk) -> None:
    taken = await desk.ask(ANN, "take", scope=["gui", "cdp"])
    assert (taken.state, taken.holder, taken.epoch, taken.scope, taken.you.driving) == ("human", "ann", 2, ["cdp", "gui"], True)
    assert taken.returning
    assert taken.returning.reason == "lost", "nobody has a page open"
    assert taken.returning.soon
    released = await desk.ask(ANN, "release")
    assert (released.state, released.epoch, released.scope) == ("agent", 3, [])
    assert (await desk.ask(ANN, "release")).epoch == 3


@pytest.mark.parametrize("caller", [GUEST, Caller("browser-only", frozenset({"view", "browser"}))])
async def test_to_drive_needs_the_scope_control(desk: Desk, caller: Caller) -> None:
    for name in ("take", "release", "freeze", "thaw", "renew"):
        with pytest.raises(PermissionDenied):
            await desk.ask(caller, name)


async def test_a_program_asks_and_the_holder_answers(desk: Desk) -> None:
    await desk.ask(ANN, "take")
    with pytest.raises(PermissionDenied, match="asks for it"):
        await desk.ask(AGENT, "take")
    [asked] = (await desk.ask(AGENT, "request", scope="shell")).requests
    assert (asked.subject, asked.person, asked.scope) == ("key", False, ["shell"])
    assert (await desk.ask(ANN, "grant", subject="key")).state == "agent"
    with pytest.raises(Conflict):
        await desk.ask(ANN, "grant", subject="key")


async def test_a_request_is_answered_with_no_or_taken_back(desk: Desk) -> None:
    await desk.ask(ANN, "take")
    await desk.ask(BOB, "request")
    with pytest.raises(PermissionDenied):
        await desk.refuse(GUEST, "bob")
    await desk.refuse(ANN, "bob")
    assert (await desk.state()).requests == []
    await desk.ask(BOB, "request")
    await desk.refuse(BOB, "bob")
    assert (await desk.state()).requests == []


async def test_who_asks_the_agent_has_it_at_once_unless_the_agent_is_to_be_asked(desk: Desk, tmp_path: Path) -> None:
    assert (await desk.ask(ANN, "request")).holder == "ann"
    (tmp_path / "other").mkdir()
    async with driving(tmp_path / "other", policy="ask") as found:
        asking = Desk(found)
        state = await asking.ask(ANN, "request")
        assert (state.state, [each.subject for each in state.requests], state.take) == ("agent", ["ann"], "ask")
        assert (await asking.ask(AGENT, "grant", subject="ann")).holder == "ann"


async def test_who_may_only_look_does_not_ask_to_drive(desk: Desk) -> None:
    with pytest.raises(PermissionDenied, match="scope 'control'"):
        await desk.ask(GUEST, "request")


async def test_control_is_handed_to_another_person_or_shared(desk: Desk) -> None:
    await desk.ask(ANN, "take")
    with pytest.raises(PermissionDenied):
        await desk.ask(BOB, "give", to="bob")
    assert (await desk.ask(ANN, "give", to="bob")).holder == "bob"
    shared = await desk.ask(BOB, "give", to="shared")
    assert (shared.state, shared.holder, shared.returning) == ("shared", None, None)
    assert (await desk.ask(BOB, "give", to="agent")).state == "agent"


async def test_an_admin_takes_it_from_somebody(desk: Desk) -> None:
    await desk.ask(ANN, "take")
    with pytest.raises(HeldByHuman):
        await desk.ask(BOB, "take")
    assert (await desk.ask(ADMIN, "take")).holder == "root"


async def test_frozen_until_a_person_thaws_it(desk: Desk) -> None:
    assert (await desk.ask(ANN, "freeze")).state == "frozen"
    with pytest.raises(PermissionDenied):
        await desk.ask(AGENT, "thaw")
    assert (await desk.ask(BOB, "thaw")).state == "agent"


async def test_only_the_holder_renews(desk: Desk) -> None:
    with pytest.raises(PermissionDenied):
        await desk.ask(ANN, "renew")
    await desk.ask(ANN, "take")
    assert (await desk.ask(ANN, "renew")).holder == "ann"
    with pytest.raises(HeldByHuman):
        await desk.ask(BOB, "renew")


async def test_who_follows_sees_every_change_and_counts_as_a_viewer(desk: Desk) -> None:
    events = await desk.events(ANN)
    first = await next_change(events)
    assert (first.kind, first.control.state) == ("state", "agent")
    assert [(viewer.name, viewer.role, viewer.you) for viewer in (await desk.state(ANN)).viewers] == [("ann", "control", True)]
    await desk.ask(ANN, "take")
    change = await next_change(events)
    assert (change.kind, change.by, change.control.holder, change.control.you.driving) == ("taken", "ann", "ann", True)
    assert change.control.returning
    assert change.control.returning.reason == "idle", "the connection keeps it"
    await events.aclose()  # type: ignore[attr-defined] # it is a generator
    assert (await desk.state()).viewers == []
    assert desk.driving.lease.gone is not None
