"""Questions of a person's private time: that person alone sees, answers and hears of them, while they are open and afterwards."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sandbox_server.core import Call, Caller, NotFound
from sandbox_server.core.approval import ApprovalQuestion
from sandbox_server.features.handoff.approvals import HandoffApprovals
from sandbox_server.features.handoff.handoff import AnswerHandoff, Handoff, HandoffRef
from sandbox_server.features.handoff.handoffs import AssignHandoff, DropSecret, Handoffs, ListHandoffs, WaitForPerson
from sandbox_server.features.handoff.queue import HandoffQueue
from sandbox_server.features.handoff.store import HandoffStore
from tests.patience import eventually

pytestmark = pytest.mark.anyio
QUESTION = ApprovalQuestion("network", "r", {"host": "bank.example"}, "the desktop", answers=("once", "deny"), private="ann")
EVERY = frozenset({"view", "control", "admin"})
HER = Call(Caller("ann", EVERY, person=True), "1")
OTHERS = (
    Call(Caller("ada", EVERY, person=True), "2"),
    Call(Caller("ann", EVERY), "3"),
    Call(Caller("the desktop", EVERY), "4", surface="mcp"),
)


class Room:
    """A queue with one question of private time, and what follows the queue."""

    def __init__(self, path: Path) -> None:
        self.kept: list[Handoff] = []
        self.queue = HandoffQueue(HandoffStore(str(path)), kept=self.kept.append)
        self.approvals = HandoffApprovals(self.queue, 60)
        self.told: list[Handoff] = []
        self.handoffs = Handoffs(self.queue, _nothing, _nothing)


async def _nothing(*_: Any) -> None:
    return None


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    made = Room(tmp_path / "handoffs.db")
    async with made.queue._store, made.queue, made.approvals:
        made.queue.follow(made.told.append)
        yield made


async def asked(room: Room, question: ApprovalQuestion = QUESTION) -> "tuple[asyncio.Task[Any], str]":
    """Ask, and return what waits for the answer, with the question's id."""
    before = {each.id for each in room.queue.listed("all")}
    waiting = asyncio.create_task(room.approvals.ask(question))
    await eventually(lambda: len(room.queue.listed("all")) > len(before))
    return waiting, next(each.id for each in room.queue.listed("all") if each.id not in before)


OPERATIONS = {
    "get": lambda found, number, call: found.get_handoff(WaitForPerson(id=number), call),
    "claim": lambda found, number, call: found.claim_handoff(HandoffRef(id=number), call),
    "assign": lambda found, number, call: found.assign_handoff(AssignHandoff(id=number, to="ada"), call),
    "answer": lambda found, number, call: found.answer_handoff(AnswerHandoff(id=number, outcome="once"), call),
    "secret": lambda found, number, call: found.drop_secret(DropSecret(id=number, field="f", secret=SecretStr("s")), call),
    "reply": lambda found, number, call: found.reply_handoff(AnswerHandoff(id=number, outcome="once"), call),
    "cancel": lambda found, number, call: found.cancel_handoff(HandoffRef(id=number), call),
}


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_for_everybody_else_it_is_not_there(room: Room, operation: str) -> None:
    waiting, number = await asked(room)
    for call in OTHERS:
        with pytest.raises(NotFound):
            await OPERATIONS[operation](room.handoffs, number, call)
    assert not waiting.done()
    waiting.cancel()


async def test_the_person_sees_and_answers_it_and_others_see_it_neither_open_nor_closed(room: Room) -> None:
    waiting, number = await asked(room)
    assert [each.id for each in await room.handoffs.list_handoffs(ListHandoffs(), HER)] == [number]
    await room.handoffs.answer_handoff(AnswerHandoff(id=number, outcome="once"), HER)
    assert (await waiting).allowed
    for status in ("open", "closed", "all"):
        for call in OTHERS:
            assert await room.handoffs.list_handoffs(ListHandoffs(status=status), call) == []


async def test_no_notification_target_is_told(room: Room) -> None:
    waiting, _ = await asked(room)
    assert room.told == []
    other, number = await asked(room, replace(QUESTION, private=None))
    assert [each.id for each in room.told] == [number]
    waiting.cancel()
    other.cancel()


async def test_nor_is_who_follows_the_queue_later(room: Room) -> None:
    waiting, _ = await asked(room)
    later: list[Handoff] = []
    room.queue.follow(later.append)
    assert later == []
    waiting.cancel()


async def test_whoever_follows_the_events_hears_not_even_that_something_changed(room: Room) -> None:
    following = await room.handoffs.handoff_events(OTHERS[0])
    assert (await anext(following)).data == []
    coming = asyncio.create_task(anext(following))
    waiting, number = await asked(room)
    await room.handoffs.answer_handoff(AnswerHandoff(id=number, outcome="deny"), HER)
    await waiting
    other, number = await asked(room, replace(QUESTION, private=None))
    found = (await coming).data
    assert [each.id for each in found] == [number], "the next event is about what is not private"
    other.cancel()


async def test_it_outlives_the_process_as_hers(room: Room) -> None:
    waiting, number = await asked(room)
    assert Handoff.model_validate_json(room.queue.get(number).model_dump_json()).private == "ann"
    waiting.cancel()


async def test_the_same_question_of_a_program_is_another_one_and_gets_no_answer_of_hers(room: Room) -> None:
    hers, number = await asked(room)
    programs, other = await asked(room, replace(QUESTION, private=None))
    await room.handoffs.answer_handoff(AnswerHandoff(id=number, outcome="deny"), HER)
    await hers
    assert not programs.done()
    assert room.queue.get(other).status == "open"
    programs.cancel()
    again, _ = await asked(room, replace(QUESTION, private=None, details={"host": "b.example"}))
    assert not again.done(), "nor is it refused because hers was denied"
    again.cancel()


async def test_a_flood_of_programs_questions_leaves_her_place(room: Room) -> None:
    flood = [await asked(room, replace(QUESTION, private=None, asked_by=f"a{number}")) for number in range(20)]
    refused = await room.approvals.ask(replace(QUESTION, private=None, asked_by="a99"))
    assert refused.outcome == "refused"
    hers, _ = await asked(room)
    assert not hers.done()
    for waiting, _ in [*flood, (hers, "")]:
        waiting.cancel()
