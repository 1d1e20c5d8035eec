"""The operations of control."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sandbox_server.core import ALL_SCOPES, Call, Caller, Conflict, Failure, HeldByHuman, PermissionDenied, Unavailable
from sandbox_server.core.dispatch import Dispatcher, InvalidFields, require_scope
from sandbox_server.core.operation import operations
from sandbox_server.features.control.control import EVENTS, ControlLease, FreshWindows, GiveControl, WantControl
from sandbox_server.features.control.control_state import ControlChange, ControlState, HiddenState
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.control.lease_listeners import LeaseListeners
from tests.controls import driving
from tests.event_types import assert_declared
from tests.threads import no_thread_is_free

pytestmark = pytest.mark.anyio

DRIVER = frozenset({"view", "control"})
ANN, BOB = Caller("ann", DRIVER, person=True), Caller("bob", DRIVER, person=True)
GUEST = Caller("guest", frozenset({"view"}), person=True)
ADMIN, AGENT = Caller("root", ALL_SCOPES, person=True), Caller("key", ALL_SCOPES)


class Calls:
    """Calls operations as somebody."""

    def __init__(self, found: LeaseKeeper, windows: FreshWindows | None = None) -> None:
        self.driving = found
        self._operations = {each.spec.name: each for each in operations(ControlLease(found, windows))}
        self._dispatcher = Dispatcher([require_scope])

    async def ask(self, caller: Caller, name: str, **fields: object) -> ControlState:
        answer = await self._dispatcher.call(self._operations[f"{name}_control"], fields, Call(caller, "request"))
        assert isinstance(answer, ControlState)
        return answer

    async def hide(self, caller: Caller, **fields: object) -> HiddenState:
        answer = await self._dispatcher.call(self._operations["hide_screen"], fields, Call(caller, "request"))
        assert isinstance(answer, HiddenState)
        return answer

    async def show(self, caller: Caller) -> None:
        await self._dispatcher.call(self._operations["show_screen"], {}, Call(caller, "request"))

    async def state(self, caller: Caller = AGENT) -> ControlState:
        answer = await self._dispatcher.call(self._operations["control_state"], {}, Call(caller, "request"))
        assert isinstance(answer, ControlState)
        return answer

    async def events(self, caller: Caller, after: str | None = None, **fields: object) -> AsyncIterator[Any]:
        call = Call(caller, "request", last_event_id=after)
        return await self._dispatcher.stream(self._operations["control_events"], fields, call)

    async def refuse(self, caller: Caller, subject: str) -> None:
        await self._dispatcher.call(self._operations["refuse_request"], {"subject": subject}, Call(caller, "request"))


@pytest.fixture
async def calls(tmp_path: Path) -> AsyncIterator[Calls]:
    async with driving(tmp_path) as found:
        yield Calls(found)


async def next_change(events: AsyncIterator[Any]) -> ControlChange:
    async with asyncio.timeout(30):
        event = await anext(events)
    assert event.event == "control"
    assert isinstance(event.data, ControlChange)
    assert_declared(EVENTS, [event])
    return event.data


async def test_at_first_the_agent_drives(calls: Calls) -> None:
    state = await calls.state(AGENT)
    assert (state.state, state.holder, state.epoch, state.returning) == ("agent", None, 1, None)
    assert (state.you.role, state.you.driving) == ("agent", True)
    assert ((await calls.state(GUEST)).you.role, (await calls.state(ANN)).you.role, (await calls.state(ADMIN)).you.role) == (
        "view",
        "control",
        "admin",
    )


async def test_a_person_takes_it_and_gives_it_back(calls: Calls) -> None:
    taken = await calls.ask(ANN, "take", scope=["gui", "cdp"])
    assert (taken.state, taken.holder, taken.epoch, taken.scope, taken.you.driving) == ("human", "ann", 2, ["cdp", "gui"], True)
    assert taken.returning
    assert taken.returning.reason == "lost", "nobody has a page open"
    assert taken.returning.soon
    released = await calls.ask(ANN, "release")
    assert (released.state, released.epoch, released.scope) == ("agent", 3, [])
    assert (await calls.ask(ANN, "release")).epoch == 3


@pytest.mark.parametrize("caller", [GUEST, Caller("browser-only", frozenset({"view", "browser"}))])
async def test_to_drive_needs_the_scope_control(calls: Calls, caller: Caller) -> None:
    for name in ("take", "release", "freeze", "thaw", "renew"):
        with pytest.raises(PermissionDenied):
            await calls.ask(caller, name)


async def test_a_program_asks_and_the_holder_answers(calls: Calls) -> None:
    await calls.ask(ANN, "take")
    with pytest.raises(PermissionDenied, match="asks for it"):
        await calls.ask(AGENT, "take")
    [asked] = (await calls.ask(AGENT, "request", scope="shell")).requests
    assert (asked.subject, asked.person, asked.scope) == ("key", False, ["shell"])
    assert (await calls.ask(ANN, "grant", subject="key")).state == "agent"
    with pytest.raises(Conflict):
        await calls.ask(ANN, "grant", subject="key")


async def test_a_request_is_answered_with_no_or_taken_back(calls: Calls) -> None:
    await calls.ask(ANN, "take")
    await calls.ask(BOB, "request")
    with pytest.raises(PermissionDenied):
        await calls.refuse(GUEST, "bob")
    await calls.refuse(ANN, "bob")
    assert (await calls.state()).requests == []
    await calls.ask(BOB, "request")
    await calls.refuse(BOB, "bob")
    assert (await calls.state()).requests == []


async def test_who_asks_the_agent_has_it_at_once_unless_the_agent_is_to_be_asked(calls: Calls, tmp_path: Path) -> None:
    assert (await calls.ask(ANN, "request")).holder == "ann"
    (tmp_path / "other").mkdir()
    async with driving(tmp_path / "other", policy="ask") as found:
        asking = Calls(found)
        state = await asking.ask(ANN, "request")
        assert (state.state, [each.subject for each in state.requests], state.take) == ("agent", ["ann"], "ask")
        assert (await asking.ask(AGENT, "grant", subject="ann")).holder == "ann"


async def test_who_may_only_look_does_not_ask_to_drive(calls: Calls) -> None:
    with pytest.raises(PermissionDenied, match="scope 'control'"):
        await calls.ask(GUEST, "request")


async def test_control_is_handed_to_another_person_or_shared(calls: Calls) -> None:
    await calls.ask(ANN, "take")
    with pytest.raises(PermissionDenied):
        await calls.ask(BOB, "give", to="bob")
    assert (await calls.ask(ANN, "give", to="bob")).holder == "bob"
    shared = await calls.ask(BOB, "give", to="shared")
    assert (shared.state, shared.holder, shared.returning) == ("shared", None, None)
    assert (await calls.ask(BOB, "give", to="agent")).state == "agent"


async def test_an_admin_takes_it_from_somebody(calls: Calls) -> None:
    await calls.ask(ANN, "take")
    with pytest.raises(HeldByHuman):
        await calls.ask(BOB, "take")
    assert (await calls.ask(ADMIN, "take")).holder == "root"


async def test_frozen_until_a_person_thaws_it(calls: Calls) -> None:
    assert (await calls.ask(ANN, "freeze")).state == "frozen"
    with pytest.raises(PermissionDenied):
        await calls.ask(AGENT, "thaw")
    assert (await calls.ask(BOB, "thaw")).state == "agent"


async def test_only_the_holder_renews(calls: Calls) -> None:
    with pytest.raises(PermissionDenied):
        await calls.ask(ANN, "renew")
    await calls.ask(ANN, "take")
    assert (await calls.ask(ANN, "renew")).holder == "ann"
    with pytest.raises(HeldByHuman):
        await calls.ask(BOB, "renew")


async def test_who_follows_sees_every_change_and_counts_as_a_viewer(calls: Calls) -> None:
    events = await calls.events(ANN)
    first = await next_change(events)
    assert (first.kind, first.control.state) == ("state", "agent")
    assert [(viewer.name, viewer.role, viewer.you) for viewer in (await calls.state(ANN)).viewers] == [("ann", "control", True)]
    await calls.ask(ANN, "take")
    change = await next_change(events)
    assert (change.kind, change.by, change.control.holder, change.control.you.driving) == ("taken", "ann", "ann", True)
    assert change.control.returning
    assert change.control.returning.reason == "idle", "the connection keeps it"
    await events.aclose()  # type: ignore[attr-defined] # it is a generator
    assert (await calls.state()).viewers == []
    assert calls.driving.lease.gone is not None


async def test_who_watches_for_others_counts_as_no_viewer(calls: Calls) -> None:
    events = await calls.events(ANN, viewing=False)
    await next_change(events)
    assert (await calls.state()).viewers == []
    await calls.ask(BOB, "take")
    assert (await next_change(events)).control.holder == "bob"
    await events.aclose()  # type: ignore[attr-defined] # it is a generator


class Browser:
    """Opens windows, as it is told; what closes them is called before anybody else sees."""

    def __init__(self, found: LeaseKeeper, failure: Failure | None = None) -> None:
        self.opened: list[tuple[str, str]] = []
        self.private_at_the_end: list[str | None] = []
        self._driving = found
        self._failure = failure

    async def open_fresh(self, person: str, url: str) -> None:
        if self._failure:
            raise self._failure
        assert self._driving.holding.private == person
        self.opened.append((person, url))

    async def close(self) -> None:
        self.private_at_the_end.append(self._driving.holding.private)


async def test_who_wants_to_be_private_in_a_fresh_window_gets_one(tmp_path: Path) -> None:
    async with driving(tmp_path) as found:
        browser = Browser(found)
        calls = Calls(found, browser)
        assert not (await calls.hide(ANN)).fresh
        state = await calls.hide(ANN, fresh=True, url="https://bank.example/in?a=b")
        assert (state.fresh, state.private) == (True, "ann")
        await calls.hide(ANN, fresh=True)
        assert browser.opened == [("ann", "https://bank.example/in?a=b"), ("ann", "about:blank")]
        with pytest.raises(HeldByHuman):
            await calls.hide(BOB, fresh=True)
        assert len(browser.opened) == 2


@pytest.mark.parametrize("failure", [Unavailable("it restarts"), Conflict("not private"), None])
async def test_without_a_window_she_is_private_all_the_same_and_told_so(tmp_path: Path, failure: Failure | None) -> None:
    async with driving(tmp_path) as found:
        calls = Calls(found, Browser(found, failure) if failure else None)
        with pytest.raises(Unavailable, match="you are private, but no fresh window"):
            await calls.hide(ANN, fresh=True)
        assert found.holding.private == "ann"


WRONG = [
    "file:///etc/passwd",
    "javascript:alert(1)",
    "chrome://settings",
    "http:",
    "http://",
    "bank.example",
    "https://a b",
    "",
    "http://[",
]


@pytest.mark.parametrize("url", [*WRONG, f"https://a/{9000 * 'x'}"])
async def test_an_address_that_is_not_of_the_web_is_refused_before_anything_is_done(calls: Calls, url: str) -> None:
    with pytest.raises(InvalidFields):
        await calls.hide(ANN, fresh=True, url=url)
    assert calls.driving.holding.private is None


async def test_an_address_without_a_fresh_window_is_refused(calls: Calls) -> None:
    with pytest.raises(InvalidFields):
        await calls.hide(ANN, url="https://bank.example/")


@pytest.mark.parametrize("way", ["show", "release", "give", "take", "thaw", "expel"])
async def test_what_was_private_is_closed_before_anybody_else_sees(tmp_path: Path, way: str) -> None:
    async def close() -> None:
        await browser.close()

    async with driving(tmp_path, listeners=LeaseListeners((close,))) as found:
        browser = Browser(found)
        calls = Calls(found, browser)
        await calls.hide(ANN, fresh=True)
        await calls.ask(ANN, "renew")
        assert browser.private_at_the_end == []
        match way:
            case "show":
                await calls.show(ANN)
            case "give":
                await calls.ask(ANN, "give", to="shared")
            case "take":
                await calls.ask(ADMIN, "take")
            case "thaw":
                await calls.ask(ANN, "freeze")
                assert browser.private_at_the_end == [], "a freeze keeps her private"
                await calls.ask(ANN, "thaw")
            case "expel":
                await found.expel("ann")
            case _:
                await calls.ask(ANN, "release")
        assert browser.private_at_the_end == ["ann"]
        assert found.holding.private != "ann"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({}, ["cdp", "gui", "shell"]),
        ({"scope": "all"}, ["cdp", "gui", "shell"]),
        ({"scope": ["all", "gui"]}, ["cdp", "gui", "shell"]),
        ({"scope": "gui"}, ["gui"]),
        ({"scope": ["shell", "gui"]}, ["shell", "gui"]),
    ],
)
def test_a_scope_is_a_word_or_a_list_or_all(given: dict[str, object], meant: list[str]) -> None:
    assert WantControl.model_validate(given).scope == meant


@pytest.mark.parametrize("scope", ["everything", [], ["gui", "x"], 3])
def test_an_unknown_scope_is_refused(scope: object) -> None:
    with pytest.raises(ValidationError):
        WantControl.model_validate({"scope": scope})


def test_control_is_given_to_somebody() -> None:
    with pytest.raises(ValidationError):
        GiveControl.model_validate({"to": ""})


async def test_a_program_answers_no_request_but_its_own_whatever_its_scopes(calls: Calls) -> None:
    await calls.ask(ANN, "take")
    await calls.ask(BOB, "request")
    await calls.ask(AGENT, "request")
    with pytest.raises(PermissionDenied, match="left to people"):
        await calls.refuse(AGENT, "bob")
    assert [each.subject for each in (await calls.state()).requests] == ["bob", "key"]
    await calls.refuse(AGENT, "key")
    await calls.refuse(replace(AGENT, owner=True), "bob")
    assert (await calls.state()).requests == []


async def test_a_person_takes_and_freezes_while_no_thread_is_free(calls: Calls) -> None:
    async with no_thread_is_free():
        assert (await calls.ask(ANN, "take")).holder == "ann"
        assert (await calls.ask(ANN, "freeze")).state == "frozen"
