"""Presses and replies in a chat of Telegram answer handoffs, if a named user makes them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller, Unavailable
from sandbox_server.drivers.clients.json_calls import field
from sandbox_server.features.handoff import telegram_answers as module
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.handoff import AskPerson, Handoff
from sandbox_server.features.handoff.queue import HandoffQueue
from sandbox_server.features.handoff.telegram_answers import NOT_YOURS, TelegramAnswers
from sandbox_server.features.handoff.telegram_room import TelegramRoom
from tests.features.handoff.queues import queue
from tests.patience import eventually

pytestmark = pytest.mark.anyio
ANN, BEN = 7, 8
BOT = 99


class FakeBot:
    """A bot whose updates a test gives, and which keeps what it is told to say."""

    id = BOT

    def __init__(self) -> None:
        self.updates: asyncio.Queue[object] = asyncio.Queue()
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.offsets: list[int] = []

    async def call(self, method: str, *, seconds: float = 0, **arguments: Any) -> Any:
        if method != "getUpdates":
            self.said.append((method, arguments))
            return True
        self.offsets.append(arguments["offset"])
        found = await self.updates.get()
        if isinstance(found, Exception):
            raise found
        return found


class Chat:
    """A queue of handoffs with a chat."""

    def __init__(self, opened: HandoffQueue) -> None:
        self.queue = opened
        self.answers = ChatAnswers(opened, b"key")
        self.bot = FakeBot()
        self.number = 0

    async def ask(self, **fields: Any) -> Handoff:
        return await self.queue.ask(AskPerson.model_validate({"reason": "why", **fields}), Caller("agent"))

    def press(self, data: object, user: int = ANN) -> None:
        message = {"message_id": 5, "chat": {"id": 1}, "text": "asked"}
        self.arrive({"callback_query": {"id": "q", "from": {"id": user}, "data": data, "message": message}})

    def reply(self, handoff: Handoff, text: object, user: int = ANN, of: int = BOT) -> None:
        asked = {"from": {"id": of}, "text": f"why\n\nReply to this message to answer. #{handoff.id}"}
        self.arrive({"message": {"message_id": 6, "chat": {"id": 1}, "from": {"id": user}, "text": text, "reply_to_message": asked}})

    def arrive(self, update: dict[str, Any]) -> None:
        self.number += 1
        self.bot.updates.put_nowait([{"update_id": self.number, **update}])

    async def told(self, count: int) -> list[tuple[str, dict[str, Any]]]:
        await eventually(lambda: len(self.bot.said) >= count)
        return self.bot.said


@pytest.fixture
async def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Chat]:
    monkeypatch.setattr(module, "PAUSES", (0.001, 0.002))
    store, opened = queue(tmp_path)
    async with store, opened:
        made = Chat(opened)
        target = ChatTarget(TelegramRoom(made.bot, "1", made.answers), opened)  # type: ignore[arg-type] # it has what is used
        async with target, TelegramAnswers(made.bot, (ANN,), made.answers, target):  # type: ignore[arg-type] # it has what is used
            yield made


async def test_a_press_answers_and_is_shown(chat: Chat) -> None:
    asked = await chat.ask(kind="confirm")
    chat.press(chat.answers.buttons(asked)[0].data)
    said = dict(await chat.told(2))
    assert chat.queue.get(asked.id).outcome == "done"
    assert chat.queue.get(asked.id).closed_by == "telegram:7"
    assert said["answerCallbackQuery"] == {"callback_query_id": "q", "text": "Answered: Yes"}
    assert said["editMessageText"]["text"].endswith("why\n\nAnswered by telegram:7: Yes")
    assert (said["editMessageText"]["chat_id"], said["editMessageText"]["message_id"]) == (1, 5)


async def test_a_press_after_the_end_says_so_and_shows_how_it_ended(chat: Chat) -> None:
    asked = await chat.ask(kind="confirm")
    await chat.queue.close(asked.id, "agent", "cancelled")
    chat.press(chat.answers.buttons(asked)[0].data)
    said = dict(await chat.told(2))
    assert "closed" in said["answerCallbackQuery"]["text"]
    assert said["editMessageText"]["text"].endswith("It was withdrawn.")


async def test_a_reply_answers(chat: Chat) -> None:
    asked = await chat.ask(kind="otp")
    chat.reply(asked, "123456")
    [(method, message)] = await chat.told(1)
    assert (chat.queue.get(asked.id).note, method, message["text"]) == ("123456", "sendMessage", "Answered.")


async def test_another_user_answers_nothing_and_is_told(chat: Chat) -> None:
    confirm, code = await chat.ask(kind="confirm"), await chat.ask(kind="otp")
    chat.press(chat.answers.buttons(confirm)[0].data, user=BEN)
    chat.reply(code, "1", user=BEN)
    assert [message["text"] for _, message in await chat.told(2)] == [NOT_YOURS, NOT_YOURS]
    assert len(chat.queue.listed("open")) == 2


async def test_a_reply_to_another_message_says_nothing(chat: Chat) -> None:
    asked = await chat.ask(kind="otp")
    chat.reply(asked, "1", of=BEN)
    chat.press("forged")
    assert [message["text"] for _, message in await chat.told(1)] == ["this button is not known"]
    assert chat.queue.get(asked.id).status == "open"


async def test_what_is_no_update_is_passed_over_and_after_a_failure_it_asks_again(chat: Chat) -> None:
    asked = await chat.ask(kind="otp")
    for found in (Unavailable("away"), "text", [1, None, {"update_id": "x"}, {"update_id": 40, "callback_query": {"id": 1}}]):
        chat.bot.updates.put_nowait(found)
    chat.number = 40
    chat.reply(asked, {"no": "text"})
    chat.reply(asked, "123456")
    assert [message["text"] for _, message in await chat.told(2)] == ["an answer has 1 to 4000 characters", "Answered."]
    assert max(chat.bot.offsets) >= 41


def test_a_field_of_anything_is_a_value_or_none() -> None:
    assert field({"a": {"b": 1}}, "a", "b") == 1
    nothing: tuple[object, ...] = (None, [], "a", {"a": 1}, {})
    assert [field(value, "a", "b") for value in nothing] == [None] * len(nothing)
