from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.discord_room import (
    MAX_CONTENT,
    DiscordMessage,
    DiscordRoom,
    form,
    message_of,
    submitted_text,
)
from sandbox_server.features.handoff.handoff import AskPerson
from tests.features.handoff.queues import queue

pytestmark = pytest.mark.anyio
LINK = "https://sandbox.example/link"


class FakeBot:
    """A bot that keeps what it is told to say."""

    secrets = ("token",)

    def __init__(self) -> None:
        self.said: list[tuple[str, str, dict[str, Any]]] = []

    async def deliver(self, verb: str, path: str, body: dict[str, Any]) -> tuple[DeliveryResult, Any]:
        self.said.append((verb, path, body))
        return DeliveryResult(200, None), {"channel_id": "4", "id": "5"}

    async def call(self, verb: str, path: str, body: dict[str, Any]) -> Any:
        self.said.append((verb, path, body))


async def posted(
    tmp_path: Path, asked: dict[str, Any], link: str = LINK, *, answered: bool = True
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said about a handoff, and once it was withdrawn."""
    store, opened = queue(tmp_path)
    async with store, opened:
        bot = FakeBot()
        room = DiscordRoom(bot, "4", ChatAnswers(opened, b"key") if answered else None)  # type: ignore[arg-type] # what is used
        handoff = await opened.ask(AskPerson.model_validate({"reason": "why", **asked}), Caller("agent"))
        result, message = await room.post(handoff, link)
        assert (result.status, message, room.secrets) == (200, DiscordMessage("4", "5"), ("token",))
        assert message
        await room.show_end(message, await opened.close(handoff.id, "agent", "cancelled"))
        [(post, there, first), (edit, it, second)] = bot.said
        assert (post, there, edit, it) == ("POST", "/channels/4/messages", "PATCH", "/channels/4/messages/5")
        return first, second


def labels(shown: dict[str, Any]) -> list[str]:
    return [each["label"] for row in shown["components"] for each in row["components"]]


async def test_a_message_is_a_block_of_code_that_no_text_ends_with_buttons_and_then_with_its_end(tmp_path: Path) -> None:
    first, second = await posted(tmp_path, {"kind": "confirm", "reason": "```@everyone", "instructions": "x" * 3000})
    assert first["content"].startswith("```\nThe agent asks for a person (confirm): '''@everyone")
    assert first["content"].count("```") == 2
    assert len(first["content"]) < MAX_CONTENT + 20
    assert labels(first) == ["Yes", "No", "Open"]
    assert second["content"].endswith("```\nIt was withdrawn.\n```")
    assert (second["components"], first["allowed_mentions"], second["allowed_mentions"]) == ([], {"parse": []}, {"parse": []})


async def test_a_link_that_is_too_long_for_a_button_is_in_the_text(tmp_path: Path) -> None:
    link = f"{LINK}?{'x' * 600}"
    first, _ = await posted(tmp_path, {"kind": "login"}, link)
    assert (first["components"], first["content"].endswith(f"<{link}>")) == ([], True)


async def test_where_nobody_may_answer_there_is_a_link_alone_and_many_choices_are_in_rows(tmp_path: Path) -> None:
    first, _ = await posted(tmp_path, {"kind": "confirm"}, answered=False)
    assert labels(first) == ["Open"]
    many, _ = await posted(tmp_path, {"kind": "choice", "choices": [str(number) for number in range(12)]})
    assert [len(row["components"]) for row in many["components"]] == [5, 5, 4]


async def test_a_form_keeps_its_button_and_its_text_is_read_of_anything(tmp_path: Path) -> None:
    store, opened = queue(tmp_path)
    async with store, opened:
        handoff = await opened.ask(AskPerson.model_validate({"reason": "a b " * 30, "kind": "free"}), Caller("agent"))
    made = form(handoff, "data")
    assert (made["custom_id"], len(made["components"][0]["label"])) == ("data", 45)
    assert submitted_text([{"component": {"custom_id": "answer", "value": "it"}}]) == "it"
    assert [submitted_text(each) for each in (None, [], [1], [{"component": {"custom_id": "answer", "value": 7}}], {"a": 1})] == [""] * 5


@pytest.mark.parametrize("names", [("4", 5), (None, "5"), ([], "1")])
def test_what_are_no_names_is_no_message(names: tuple[object, object]) -> None:
    assert message_of(*names) is None
