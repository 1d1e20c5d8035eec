from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.handoff import AskPerson
from sandbox_server.features.handoff.slack_room import FORM, SlackMessage, SlackRoom, form, message_of
from tests.features.handoff.queues import queue

pytestmark = pytest.mark.anyio
LINK = "https://sandbox.example/link"


class FakeApp:
    """An app that keeps what it is told to say."""

    secrets = ("token",)

    def __init__(self) -> None:
        self.said: list[tuple[str, dict[str, Any]]] = []

    async def deliver(self, method: str, **arguments: Any) -> tuple[DeliveryResult, dict[str, Any]]:
        self.said.append((method, arguments))
        return DeliveryResult(200, None), {"channel": "C1", "ts": "1.2"}

    async def call(self, method: str, **arguments: Any) -> Any:
        self.said.append((method, arguments))


async def posted(tmp_path: Path, asked: dict[str, Any], *, answered: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said about a handoff, and once it was withdrawn."""
    store, opened = queue(tmp_path)
    async with store, opened:
        app = FakeApp()
        room = SlackRoom(app, "C1", ChatAnswers(opened, b"key") if answered else None)  # type: ignore[arg-type] # what is used
        handoff = await opened.ask(AskPerson.model_validate({"reason": "why", **asked}), Caller("agent"))
        result, message = await room.post(handoff, LINK)
        assert (result.status, message, room.secrets) == (200, SlackMessage("C1", "1.2"), ("token",))
        assert message
        await room.show_end(message, await opened.close(handoff.id, "agent", "cancelled"))
        [(post, first), (edit, second)] = app.said
        assert (post, edit) == ("chat.postMessage", "chat.update")
        return first, second


async def test_a_message_is_plain_text_with_buttons_and_a_link_and_then_with_its_end(tmp_path: Path) -> None:
    first, second = await posted(tmp_path, {"kind": "confirm", "reason": "Pay <now> & here", "instructions": "*Use* the card."})
    assert first["text"] == "The agent asks for a person (confirm): Pay &lt;now&gt; &amp; here"
    assert [block["type"] for block in first["blocks"]] == ["header", "section", "actions"]
    assert [(each["text"]["text"], each.get("url")) for each in first["blocks"][2]["elements"]] == [
        ("Yes", None),
        ("No", None),
        ("Open", LINK),
    ]
    assert [block["type"] for block in second["blocks"]] == ["header", "section", "context"]
    assert second["blocks"][2]["elements"] == [{"type": "plain_text", "text": "It was withdrawn."}]
    assert (second["channel"], second["ts"]) == ("C1", "1.2")
    assert "mrkdwn" not in str((first, second))


async def test_where_nobody_may_answer_there_is_a_link_alone(tmp_path: Path) -> None:
    first, _ = await posted(tmp_path, {"kind": "otp"}, answered=False)
    assert [each["action_id"] for each in first["blocks"][-1]["elements"]] == ["open"]


async def test_a_form_has_the_name_of_the_only_field(tmp_path: Path) -> None:
    store, opened = queue(tmp_path)
    async with store, opened:
        fields = [{"name": "code", "label": "The code"}]
        handoff = await opened.ask(AskPerson.model_validate({"reason": "why", "kind": "otp", "fields": fields}), Caller("agent"))
    made = form(handoff, "data")
    assert (made["private_metadata"], made["blocks"][0]["label"]["text"], made["blocks"][0]["block_id"]) == ("data", "The code", FORM)


@pytest.mark.parametrize("names", [("4", 5), (None, "5"), ([], "1")])
def test_what_are_no_names_is_no_message(names: tuple[object, object]) -> None:
    assert message_of(*names) is None
