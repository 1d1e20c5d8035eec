from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.handoff import AskPerson
from sandbox_server.features.handoff.telegram_room import TelegramMessage, TelegramRoom, message_of
from tests.features.handoff.queues import queue

pytestmark = pytest.mark.anyio
LINK = "https://sandbox.example/link"
PAYMENT = {"kind": "payment", "reason": "Pay <now> & here", "instructions": "Use the card.", "url": "https://shop.example"}


class FakeBot:
    """A bot that keeps what it is told to say."""

    secrets = ("token",)

    def __init__(self) -> None:
        self.said: list[tuple[str, dict[str, Any]]] = []

    async def deliver(self, method: str, **arguments: Any) -> tuple[DeliveryResult, Any]:
        self.said.append((method, arguments))
        return DeliveryResult(200, None), {"message_id": 5, "chat": {"id": 42}}

    async def call(self, method: str, **arguments: Any) -> Any:
        self.said.append((method, arguments))


async def posted(tmp_path: Path, asked: dict[str, Any], *, answered: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said about a handoff, and once it was withdrawn."""
    store, opened = queue(tmp_path)
    async with store, opened:
        bot = FakeBot()
        room = TelegramRoom(bot, "@chat", ChatAnswers(opened, b"key") if answered else None)  # type: ignore[arg-type] # what is used
        handoff = await opened.ask(AskPerson.model_validate({"reason": "why", **asked}), Caller("agent"))
        result, message = await room.post(handoff, LINK)
        assert (result.status, message, room.secrets) == (200, TelegramMessage(42, 5), ("token",))
        assert message
        await room.show_end(message, await opened.close(handoff.id, "agent", "cancelled"))
        [(post, first), (edit, second)] = bot.said
        assert (post, edit) == ("sendMessage", "editMessageText")
        return first, second


async def test_a_message_is_plain_text_and_makes_no_preview(tmp_path: Path) -> None:
    first, second = await posted(tmp_path, PAYMENT)
    text = "The agent asks for a person (payment): Pay <now> & here\n\nUse the card.\nhttps://shop.example"
    assert (first["chat_id"], first["text"]) == ("@chat", f"{text}\n\n{LINK}")
    assert (second["chat_id"], second["message_id"], second["text"]) == (42, 5, f"{text}\n\nIt was withdrawn.")
    for shown in (first, second):
        assert shown["link_preview_options"] == {"is_disabled": True}
        assert "parse_mode" not in shown
        assert "reply_markup" not in shown


async def test_buttons_answer_and_a_code_is_a_reply(tmp_path: Path) -> None:
    confirm, ended = await posted(tmp_path, {"kind": "confirm"})
    assert [row[0]["text"] for row in confirm["reply_markup"]["inline_keyboard"]] == ["Yes", "No"]
    assert "reply_markup" not in ended
    code, _ = await posted(tmp_path, {"kind": "otp"})
    assert "Reply to this message to answer. #h-" in code["text"]
    alone, _ = await posted(tmp_path, {"kind": "otp"}, answered=False)
    assert alone["text"].endswith(LINK)


def test_what_are_no_numbers_is_no_message() -> None:
    assert [message_of(*each) for each in ((1, "2"), (None, 2), ("@chat", 2))] == [None, None, None]
