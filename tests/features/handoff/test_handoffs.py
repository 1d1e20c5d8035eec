"""The operations of handoffs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, Conflict, NotFound, PermissionDenied, Reply
from sandbox_server.core.dispatch import Dispatcher, InvalidFields, require_scope
from sandbox_server.core.operation import operations
from sandbox_server.features.handoff.handoff import Handoff
from sandbox_server.features.handoff.handoffs import EVENTS, Handoffs
from sandbox_server.features.handoff.queue import HandoffQueue
from tests.event_types import assert_declared
from tests.features.handoff.queues import queue as made

pytestmark = pytest.mark.anyio

AGENT, OTHER = Caller("agent", frozenset({"view", "shell"})), Caller("other", frozenset({"view"}))
ANN, GUEST = Caller("ann", frozenset({"view", "control"}), person=True), Caller("guest", frozenset({"view"}), person=True)
ROOT = Caller("root", ALL_SCOPES, owner=True)


class Calls:
    def __init__(self, queue: HandoffQueue) -> None:
        self.claims: list[str] = []
        self.drops: list[tuple[str, str, str]] = []
        self._operations = {each.spec.name: each for each in operations(Handoffs(queue, self.claimed, self.drop))}
        self._dispatcher = Dispatcher([require_scope])

    async def drop(self, origin: str, selector: str, secret: str) -> None:
        self.drops.append((origin, selector, secret))

    async def claimed(self, caller: Caller) -> None:
        self.claims.append(caller.name)

    async def ask(self, caller: Caller, name: str, **fields: object) -> Any:
        return await self.made(Call(caller, "1"), name, **fields)

    async def made(self, call: Call, name: str, **fields: object) -> Any:
        answer = await self._dispatcher.call(self._operations[name], fields, call)
        return answer.data if isinstance(answer, Reply) else answer

    async def follow(self, caller: Caller) -> AsyncIterator[Any]:
        return await self._dispatcher.stream(self._operations["handoff_events"], {}, Call(caller, "1"))


@pytest.fixture
async def calls(tmp_path: Path) -> AsyncIterator[Calls]:
    store, queue = made(tmp_path)
    async with store, queue:
        yield Calls(queue)


async def test_an_agent_asks_and_a_person_answers(calls: Calls) -> None:
    waiting = asyncio.create_task(calls.ask(AGENT, "request_human", kind="captcha", reason="a puzzle", wait=30))
    events = await calls.follow(ANN)
    async with asyncio.timeout(30):
        while not (shown := (event := await anext(events)).data):
            pass
    assert_declared(EVENTS, [event])
    assert (shown[0].reason, shown[0].status) == ("a puzzle", "open")
    claimed = await calls.ask(ANN, "claim_handoff", id=shown[0].id)
    assert (claimed.status, claimed.claimed_by, calls.claims) == ("claimed", "ann", ["ann"])
    await calls.ask(ANN, "answer_handoff", id=shown[0].id, outcome="instead", note="used the other door")
    ended = await waiting
    assert isinstance(ended, Handoff)
    assert (ended.outcome, ended.note) == ("instead", "used the other door")
    assert await calls.ask(AGENT, "list_handoffs") == []
    assert [each.id for each in await calls.ask(AGENT, "list_handoffs", status="closed")] == [ended.id]


async def test_a_confirmation_is_answered_without_claiming_it_or_taking_the_screen(calls: Calls) -> None:
    asked = await calls.ask(AGENT, "request_human", kind="confirm", reason="Place the order?")
    ended = await calls.ask(ANN, "answer_handoff", id=asked.id, outcome="cannot")
    assert (ended.confirmed, ended.claimed_by, calls.claims) == (False, None, [])
    assert (await calls.ask(AGENT, "get_handoff", id=asked.id)).confirmed is False
    assert (await calls.ask(OTHER, "get_handoff", id=asked.id)).confirmed is None
    with pytest.raises(Conflict, match="is closed: cannot"):
        await calls.ask(Caller("bob", ANN.scopes, person=True), "answer_handoff", id=asked.id, outcome="done")


async def test_a_program_does_not_answer_for_a_person_nor_does_who_may_only_look(calls: Calls) -> None:
    asked = await calls.ask(AGENT, "request_human", reason="r")
    for name, fields in (("claim_handoff", {}), ("answer_handoff", {"outcome": "done"}), ("assign_handoff", {"to": "bob"})):
        for caller in (ROOT, GUEST):
            with pytest.raises(PermissionDenied):
                await calls.ask(caller, name, id=asked.id, **fields)


async def test_who_asked_takes_it_back(calls: Calls) -> None:
    asked = await calls.ask(AGENT, "request_human", reason="r")
    with pytest.raises(PermissionDenied):
        await calls.ask(OTHER, "cancel_handoff", id=asked.id)
    assert (await calls.ask(AGENT, "cancel_handoff", id=asked.id)).outcome == "cancelled"
    again = await calls.ask(AGENT, "request_human", reason="r")
    assert (await calls.ask(ROOT, "cancel_handoff", id=again.id)).outcome == "cancelled"


@pytest.mark.parametrize("shown", ["get_handoff", "list_handoffs"])
async def test_an_answer_is_for_who_asked_people_who_may_control_and_admins(calls: Calls, shown: str) -> None:
    fields = [{"name": "street", "label": "Street"}]
    asked = await calls.ask(AGENT, "request_human", reason="r", fields=fields, choices=["left", "right"])
    answer = {"outcome": "done", "note": "at Ann's", "choice": "left", "values": {"street": "Elm"}}
    await calls.ask(ANN, "answer_handoff", id=asked.id, **answer)

    async def seen(caller: Caller) -> Handoff:
        found: Any = await calls.ask(caller, shown, **({"id": asked.id} if shown == "get_handoff" else {"status": "all"}))
        told: Handoff = found if shown == "get_handoff" else found[0]
        return told

    for caller in (AGENT, ANN, ROOT):
        told = await seen(caller)
        assert (told.note, told.choice, told.values) == ("at Ann's", "left", {"street": "Elm"})
    namesake = Caller("agent#1", AGENT.scopes)
    programs_control = Caller("tool", frozenset({"view", "control"}))
    for caller in (OTHER, GUEST, namesake, programs_control):
        told = await seen(caller)
        assert (told.status, told.outcome, told.reason) == ("closed", "done", "r")
        assert (told.note, told.choice, told.values, told.receipt, told.deliveries) == ("", None, {}, None, [])


async def test_events_tell_a_looker_what_is_asked_and_nothing_of_an_answer(calls: Calls) -> None:
    asked = await calls.ask(AGENT, "request_human", reason="r")
    [shown] = (await anext(await calls.follow(OTHER))).data
    assert (shown.id, shown.reason, shown.deliveries, shown.dropped) == (asked.id, "r", [], [])


async def test_who_asks_without_waiting_waits_later(calls: Calls) -> None:
    asked = await calls.ask(AGENT, "request_human", reason="r", wait=0.01)
    assert asked.outcome is None
    waiting = asyncio.create_task(calls.ask(AGENT, "get_handoff", id=asked.id, wait=30))
    await calls.ask(ANN, "assign_handoff", id=asked.id, to="ann")
    await calls.ask(ANN, "answer_handoff", id=asked.id, outcome="cannot")
    assert (await waiting).outcome == "cannot"


async def test_the_user_of_the_client_that_asked_may_answer_there_and_nobody_else(calls: Calls) -> None:
    asked = await calls.ask(AGENT, "request_human", reason="r")
    for call in (Call(AGENT, "1"), Call(OTHER, "1", "mcp"), Call(ROOT, "1", "mcp")):
        with pytest.raises(PermissionDenied):
            await calls.made(call, "reply_handoff", id=asked.id, outcome="done")
    ended = await calls.made(Call(AGENT, "1", "mcp"), "reply_handoff", id=asked.id, outcome="done", note="I did")

    assert (ended.outcome, ended.note, ended.answered_in, ended.closed_by) == ("done", "I did", "client", "agent")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([{"name": "password", "label": "Password", "secret": True}], "a secret field needs a selector and an origin"),
        ([{"name": "a", "label": "A"}, {"name": "a", "label": "B"}], "two fields have the same name"),
        ([{"name": "no good", "label": "A"}], "should match pattern"),
    ],
)
async def test_fields_that_cannot_be_asked_for_are_refused(calls: Calls, fields: list[dict[str, object]], why: str) -> None:
    with pytest.raises(InvalidFields, match=why):
        await calls.ask(AGENT, "request_human", reason="r", fields=fields)


async def test_a_secret_goes_into_the_page_and_nowhere_else(calls: Calls) -> None:
    pin = {"name": "pin", "label": "PIN", "secret": True, "selector": "#pin", "origin": "https://bank.example"}
    asked = await calls.ask(AGENT, "request_human", kind="login", reason="Sign in.", fields=[pin])
    with pytest.raises(PermissionDenied):
        await calls.ask(AGENT, "drop_secret", id=asked.id, field="pin", secret="hunter22")
    with pytest.raises(NotFound):
        await calls.ask(ANN, "drop_secret", id=asked.id, field="other", secret="hunter22")
    told = await calls.ask(ANN, "drop_secret", id=asked.id, field="pin", secret="hunter22")
    assert calls.drops == [("https://bank.example", "#pin", "hunter22")]
    assert (told.claimed_by, told.dropped) == ("ann", ["pin"])
    ended = await calls.ask(ANN, "answer_handoff", id=asked.id, outcome="done")
    assert "hunter22" not in ended.model_dump_json()
    with pytest.raises(Conflict):
        await calls.ask(ANN, "drop_secret", id=asked.id, field="pin", secret="hunter22")
