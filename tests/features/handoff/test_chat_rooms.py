from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller, Unavailable
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.chat_rooms import ChatTarget, ending
from sandbox_server.features.handoff.handoff import AnswerHandoff, AskPerson, Handoff, NotificationChannel
from sandbox_server.features.handoff.queue import HandoffQueue
from tests.features.handoff.queues import queue
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Room:
    """A room that names messages by numbers."""

    name: NotificationChannel = "slack"
    secrets = ("s3cret",)

    def __init__(self) -> None:
        self.takes = True
        self.ended: list[tuple[int, str]] = []
        self.tried = 0
        self.posted = 0

    async def post(self, handoff: Handoff, link: str | None) -> tuple[DeliveryResult, int | None]:
        self.posted += 1
        return (DeliveryResult(200, None), self.posted) if self.takes else (DeliveryResult(None, "no"), None)

    async def show_end(self, message: int, handoff: Handoff) -> None:
        self.tried += 1
        if not self.takes:
            raise Unavailable("away")
        self.ended.append((message, ending(handoff)))


class Posting:
    """A queue with a room."""

    def __init__(self, opened: HandoffQueue) -> None:
        self.queue = opened
        self.room = Room()
        self.target = ChatTarget(self.room, opened)

    async def ask(self, **fields: Any) -> Handoff:
        asked = await self.queue.ask(AskPerson.model_validate({"reason": "why", **fields}), Caller("agent"))
        await self.target.tell(asked, None)
        return asked


@pytest.fixture
async def posting(tmp_path: Path) -> AsyncIterator[Posting]:
    store, opened = queue(tmp_path)
    made = Posting(opened)
    async with store, opened, made.target:
        yield made


async def test_a_message_shows_how_its_handoff_ended_wherever_that_was(posting: Posting) -> None:
    answered, withdrawn = await posting.ask(kind="confirm"), await posting.ask(kind="login")
    await posting.queue.answer(AnswerHandoff(id=answered.id, outcome="done"), "ann", "view")
    await posting.queue.close(withdrawn.id, "agent", "cancelled")
    await eventually(lambda: len(posting.room.ended) == 2)
    assert posting.room.ended == [(1, "Answered by ann: Yes"), (2, "It was withdrawn.")]
    assert (posting.target.name, posting.target.secrets) == ("slack", ("s3cret",))


async def test_a_message_that_was_not_taken_or_cannot_be_replaced_holds_up_no_other(posting: Posting) -> None:
    posting.room.takes = False
    refused = await posting.ask(kind="confirm")
    posting.room.takes = True
    kept, other = await posting.ask(kind="confirm"), await posting.ask(kind="confirm")
    posting.room.takes = False
    for each in (refused, kept):
        await posting.queue.close(each.id, "agent", "cancelled")
    await eventually(lambda: posting.room.tried == 1)
    posting.room.takes = True
    await posting.queue.close(other.id, "agent", "cancelled")
    assert await eventually(lambda: posting.room.ended) == [(3, "It was withdrawn.")]


async def test_a_message_that_is_found_again_shows_the_end_at_once_or_later(posting: Posting) -> None:
    ended = await posting.queue.ask(AskPerson(kind="confirm", reason="why"), Caller("agent"))
    going = await posting.queue.ask(AskPerson(kind="confirm", reason="why"), Caller("agent"))
    closed = await posting.queue.close(ended.id, "agent", "cancelled")
    await posting.target.found(closed, 7)
    await posting.target.found(going, 8)
    await posting.queue.answer(AnswerHandoff(id=going.id, outcome="cannot"), "ann", "view")
    await eventually(lambda: len(posting.room.ended) == 2)
    assert posting.room.ended == [(7, "It was withdrawn."), (8, "Answered by ann: No")]


async def test_an_ending_shows_no_code_and_no_long_answer(posting: Posting) -> None:
    code = await posting.ask(kind="otp")
    closed = await posting.queue.answer(AnswerHandoff(id=code.id, outcome="done", note="918273"), "ann", "chat")
    assert ending(closed) == "Answered by ann: done"
    choice = await posting.ask(kind="choice", choices=["x" * 390, "y"])
    chosen = await posting.queue.answer(AnswerHandoff(id=choice.id, outcome="done", choice="x" * 390), "ann", "view")
    assert len(ending(chosen)) < 330
