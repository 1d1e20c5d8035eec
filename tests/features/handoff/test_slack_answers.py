"""Presses and forms in a channel of Slack answer handoffs, if a named user makes them: with a stand-in of Slack."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller
from sandbox_server.drivers.clients.slack import SlackApp
from sandbox_server.features.handoff import chat_connection
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.handoff import AnswerHandoff, AskPerson, Handoff
from sandbox_server.features.handoff.queue import HandoffQueue
from sandbox_server.features.handoff.slack_answers import NOT_YOURS, SlackAnswers
from sandbox_server.features.handoff.slack_room import SlackMessage, SlackRoom
from tests.features.handoff.queues import queue
from tests.patience import eventually
from tests.slack_server import APP_TOKEN, BOT_TOKEN, CHANNEL, SlackServer

pytestmark = pytest.mark.anyio
ANN, BEN = "U0ANN", "U0BEN"


class Channel:
    """A channel of the stand-in with a queue of handoffs."""

    def __init__(self, slack: SlackServer, opened: HandoffQueue, target: ChatTarget[SlackMessage]) -> None:
        self.slack = slack
        self.queue = opened
        self._target = target

    async def ask(self, **fields: Any) -> tuple[Handoff, dict[str, Any]]:
        """Ask, and post the message."""
        asked = await self.queue.ask(AskPerson.model_validate({"reason": "why", **fields}), Caller("agent"))
        assert (await self._target.tell(asked, "https://sandbox.example/link")).status == 200
        return asked, self.slack.told[-1]

    async def end(self, handoff: Handoff) -> Handoff:
        """A handoff, once it has ended."""
        return await self.queue.closed(handoff.id, 30)

    async def whispered(self, text: str) -> list[str]:
        """Whom something was said to alone."""

        def found() -> list[str]:
            return [said["user"] for said in self.slack.said("chat.postEphemeral") if text in said["text"]]

        users: list[str] = await eventually(found)
        return users


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackServer]:
    monkeypatch.setattr(chat_connection, "PAUSES", (0.01, 0.05))
    made = SlackServer()
    with made.serving():
        yield made
    assert made.wrong == []


@pytest.fixture
async def channel(slack: SlackServer, tmp_path: Path) -> AsyncIterator[Channel]:
    store, opened = queue(tmp_path)
    app, buttons = SlackApp(f"http://127.0.0.1:{slack.port}/api", BOT_TOKEN, APP_TOKEN), ChatAnswers(opened, b"key")
    target = ChatTarget(SlackRoom(app, CHANNEL, buttons), opened)
    async with store, opened, target, SlackAnswers(app, (ANN,), buttons, target):
        await eventually(lambda: slack.sockets)
        yield Channel(slack, opened, target)


async def test_a_yes_and_a_choice_are_presses_and_the_message_says_so(channel: Channel) -> None:
    confirm, shown = await channel.ask(kind="confirm", reason="Send <it> & go?")
    envelope = channel.slack.press(shown, "Yes", ANN)
    closed = await channel.end(confirm)
    assert (closed.confirmed, closed.closed_by, closed.answered_in) == (True, f"slack:{ANN}", "chat")
    assert await eventually(lambda: channel.slack.acknowledged.get(envelope)) == {"envelope_id": envelope}

    choice, shown = await channel.ask(kind="choice", choices=[f"seat {number} {'x' * 380}" for number in range(12)])
    channel.slack.press(shown, "seat 7", ANN)
    assert str((await channel.end(choice)).choice).startswith("seat 7")

    updates = await eventually(lambda: channel.slack.said("chat.update"), lambda updates: len(updates) == 2)
    assert updates[0]["blocks"][-1]["elements"][0]["text"] == f"Answered by slack:{ANN}: Yes"
    assert not [block for update in updates for block in update["blocks"] if block["type"] == "actions"]


async def test_a_code_is_given_in_a_form_and_shown_nowhere(channel: Channel) -> None:
    code, shown = await channel.ask(kind="otp", fields=[{"name": "code", "label": "The code"}])
    channel.slack.press(shown, "Answer", ANN)
    [opened] = await eventually(lambda: channel.slack.said("views.open"))
    envelope = channel.slack.submit(opened["view"], "918273", ANN)

    assert (await channel.end(code)).values == {"code": "918273"}
    assert await eventually(lambda: channel.slack.acknowledged.get(envelope)) == {"envelope_id": envelope}
    [update] = await eventually(lambda: channel.slack.said("chat.update"))
    assert "918273" not in str(update)


async def test_only_a_named_user_answers_by_button_or_form(channel: Channel) -> None:
    confirm, shown = await channel.ask(kind="confirm")
    channel.slack.press(shown, "Yes", BEN)
    assert await channel.whispered(NOT_YOURS) == [BEN]

    code, shown = await channel.ask(kind="otp")
    channel.slack.press(shown, "Answer", ANN)
    [opened] = await eventually(lambda: channel.slack.said("views.open"))
    envelope = channel.slack.submit(opened["view"], "1", BEN)
    refused = await eventually(lambda: channel.slack.acknowledged.get(envelope))
    assert refused

    assert refused["payload"] == {"response_action": "errors", "errors": {"answer": NOT_YOURS}}
    assert {each.id for each in channel.queue.listed("open")} == {confirm.id, code.id}


async def test_a_press_that_is_sent_again_and_one_that_is_late_change_nothing_and_say_so(channel: Channel) -> None:
    confirm, shown = await channel.ask(kind="confirm")
    channel.slack.press(shown, "Yes", ANN)
    first = await channel.end(confirm)
    channel.slack.press(shown, "No", ANN)

    assert await channel.whispered("closed") == [ANN]
    assert channel.queue.get(confirm.id) == first


async def test_the_message_says_when_it_was_answered_elsewhere_or_withdrawn(channel: Channel) -> None:
    elsewhere, _ = await channel.ask(kind="confirm")
    await channel.queue.answer(AnswerHandoff(id=elsewhere.id, outcome="cannot"), "ann", "view")
    withdrawn, _ = await channel.ask(kind="login")
    await channel.queue.close(withdrawn.id, "agent", "cancelled")

    updates = await eventually(lambda: channel.slack.said("chat.update"), lambda updates: len(updates) == 2)
    assert [update["blocks"][-1]["elements"][0]["text"] for update in updates] == ["Answered by ann: No", "It was withdrawn."]


async def test_a_form_sent_after_the_end_says_so(channel: Channel) -> None:
    code, shown = await channel.ask(kind="otp")
    channel.slack.press(shown, "Answer", ANN)
    [opened] = await eventually(lambda: channel.slack.said("views.open"))
    await channel.queue.close(code.id, "agent", "cancelled")
    envelope = channel.slack.submit(opened["view"], "1", ANN)

    refused = await eventually(lambda: channel.slack.acknowledged.get(envelope))
    assert refused
    assert "closed" in refused["payload"]["errors"]["answer"]


async def test_what_is_for_the_screen_has_a_link_alone(channel: Channel) -> None:
    _, shown = await channel.ask(kind="login", reason="Sign in")
    [actions] = [block for block in shown["blocks"] if block["type"] == "actions"]
    assert [(each["text"]["text"], each["url"]) for each in actions["elements"]] == [("Open", "https://sandbox.example/link")]


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        {"type": "block_actions"},
        {"type": "block_actions", "user": {"id": ANN}, "actions": [{"value": 7}]},
        {"type": "block_actions", "user": {"id": ANN}, "actions": [{"value": "h-0:0:0"}]},
        {"type": "block_actions", "user": ANN, "actions": "all"},
        {"type": "view_submission"},
        {"type": "view_submission", "user": {"id": ANN}, "view": {"private_metadata": 7, "state": []}},
        {"type": "view_submission", "user": {"id": [ANN]}},
        {"type": "shortcut"},
    ],
)
async def test_what_makes_no_sense_is_acknowledged_and_the_next_answer_is_taken(channel: Channel, payload: Any) -> None:
    strange = channel.slack.arrive(payload)
    confirm, shown = await channel.ask(kind="confirm")
    channel.slack.press(shown, "No", ANN)

    assert (await channel.end(confirm)).confirmed is False
    assert strange in channel.slack.acknowledged


async def test_it_connects_again_when_slack_asks_for_it_and_when_the_connection_ends(channel: Channel) -> None:
    channel.slack.send({"type": "disconnect", "reason": "refresh_requested"})
    await eventually(lambda: channel.slack.opened == 2 and len(channel.slack.sockets) == 2)
    channel.slack.close(1011)
    await eventually(lambda: channel.slack.opened == 3 and len(channel.slack.sockets) == 2)
    confirm, shown = await channel.ask(kind="confirm")
    channel.slack.press(shown, "Yes", ANN)

    assert (await channel.end(confirm)).confirmed is True


async def test_a_message_of_before_a_restart_is_known_again_by_a_press(channel: Channel) -> None:
    confirm, shown = await channel.ask(kind="confirm")
    channel._target._messages.clear()
    channel.slack.press(shown, "Yes", ANN)
    await channel.end(confirm)

    [update] = await eventually(lambda: channel.slack.said("chat.update"))
    assert update["ts"] == "1503435956.000001"
