"""Presses and forms in a channel of Discord answer handoffs, if a named user makes them: with a stand-in of Discord."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller
from sandbox_server.drivers.clients import discord as driver
from sandbox_server.drivers.clients.discord import DiscordBot
from sandbox_server.features.handoff import chat_connection
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.discord_answers import NOT_YOURS, DiscordAnswers
from sandbox_server.features.handoff.discord_room import DiscordMessage, DiscordRoom
from sandbox_server.features.handoff.handoff import AnswerHandoff, AskPerson, Handoff
from sandbox_server.features.handoff.queue import HandoffQueue
from tests.discord_server import CHANNEL, TOKEN, DiscordServer
from tests.features.handoff.queues import queue
from tests.patience import eventually

pytestmark = pytest.mark.anyio
ANN, BEN = "80351110224678912", "80351110224678913"


class Channel:
    """A channel of the stand-in with a queue of handoffs."""

    def __init__(self, discord: DiscordServer, opened: HandoffQueue, target: ChatTarget[DiscordMessage]) -> None:
        self.discord = discord
        self.queue = opened
        self._target = target

    async def ask(self, **fields: Any) -> tuple[Handoff, dict[str, Any]]:
        """Ask, and post the message."""
        asked = await self.queue.ask(AskPerson.model_validate({"reason": "why", **fields}), Caller("agent"))
        assert (await self._target.tell(asked, "https://sandbox.example/link")).status == 200
        return asked, self.discord.told[-1]

    async def end(self, handoff: Handoff) -> Handoff:
        """A handoff, once it has ended."""
        return await self.queue.closed(handoff.id, 30)

    async def called_back(self, number: str) -> dict[str, Any]:
        """What an interaction was answered."""
        answer = await eventually(lambda: self.discord.callbacks.get(number))
        assert answer
        return answer


@pytest.fixture
def discord(monkeypatch: pytest.MonkeyPatch) -> Iterator[DiscordServer]:
    monkeypatch.setattr(chat_connection, "PAUSES", (0.01, 0.05))
    made = DiscordServer()
    with made.serving():
        yield made
    assert made.wrong == []


@pytest.fixture
async def channel(discord: DiscordServer, tmp_path: Path) -> AsyncIterator[Channel]:
    store, opened = queue(tmp_path)
    bot, buttons = DiscordBot(f"http://127.0.0.1:{discord.port}/api/v10", TOKEN, "1.0"), ChatAnswers(opened, b"key")
    target = ChatTarget(DiscordRoom(bot, CHANNEL, buttons), opened)
    async with store, opened, target, DiscordAnswers(bot, (ANN,), buttons, target):
        await eventually(lambda: discord.sockets)
        yield Channel(discord, opened, target)


async def test_a_yes_and_a_choice_are_presses_and_the_message_says_so(channel: Channel) -> None:
    confirm, shown = await channel.ask(kind="confirm", reason="Send it to @everyone ``` **now**?")
    assert shown["content"] == "```\nThe agent asks for a person (confirm): Send it to @everyone ''' **now**?\n```"
    pressed = channel.discord.press(shown, "Yes", ANN)
    closed = await channel.end(confirm)
    assert (closed.confirmed, closed.closed_by, closed.answered_in) == (True, f"discord:{ANN}", "chat")
    assert await channel.called_back(pressed) == {"type": 6}

    choice, shown = await channel.ask(kind="choice", choices=[f"seat {number} {'x' * 380}" for number in range(12)])
    channel.discord.press(shown, "seat 7", ANN)
    assert str((await channel.end(choice)).choice).startswith("seat 7")

    edits = await eventually(lambda: channel.discord.edited, lambda edits: len(edits) == 2)
    assert f"Answered by discord:{ANN}: Yes" in edits[0]["content"]
    assert [edit["components"] for edit in edits] == [[], []]


async def test_a_code_is_given_in_a_form_and_shown_nowhere(channel: Channel) -> None:
    code, shown = await channel.ask(kind="otp", fields=[{"name": "code", "label": "The code"}])
    modal = await channel.called_back(channel.discord.press(shown, "Answer", ANN))
    assert modal["type"] == 9
    sent = channel.discord.submit(modal["data"], "918273", ANN)

    assert (await channel.end(code)).values == {"code": "918273"}
    assert await channel.called_back(sent) == {"type": 6}
    [edit] = await eventually(lambda: channel.discord.edited)
    assert "918273" not in str(edit)


async def test_only_a_named_user_answers_by_button_or_form(channel: Channel) -> None:
    confirm, shown = await channel.ask(kind="confirm")
    refused = await channel.called_back(channel.discord.press(shown, "Yes", BEN))
    assert (refused["type"], refused["data"]["content"], refused["data"]["flags"]) == (4, NOT_YOURS, 64)

    code, shown = await channel.ask(kind="otp")
    modal = await channel.called_back(channel.discord.press(shown, "Answer", ANN))
    refused = await channel.called_back(channel.discord.submit(modal["data"], "1", BEN))
    assert refused["data"]["content"] == NOT_YOURS
    assert {each.id for each in channel.queue.listed("open")} == {confirm.id, code.id}


async def test_a_press_that_is_sent_again_and_one_that_is_late_change_nothing_and_say_so(channel: Channel) -> None:
    confirm, shown = await channel.ask(kind="confirm")
    channel.discord.press(shown, "Yes", ANN)
    first = await channel.end(confirm)
    late = await channel.called_back(channel.discord.press(shown, "No", ANN))

    assert "closed" in late["data"]["content"]
    assert channel.queue.get(confirm.id) == first


async def test_the_message_says_when_it_was_answered_elsewhere_or_withdrawn(channel: Channel) -> None:
    elsewhere, _ = await channel.ask(kind="confirm")
    await channel.queue.answer(AnswerHandoff(id=elsewhere.id, outcome="cannot"), "ann", "view")
    withdrawn, _ = await channel.ask(kind="login")
    await channel.queue.close(withdrawn.id, "agent", "cancelled")

    edits = await eventually(lambda: channel.discord.edited, lambda edits: len(edits) == 2)
    assert "Answered by ann: No" in edits[0]["content"]
    assert "It was withdrawn." in edits[1]["content"]


async def test_what_is_for_the_screen_has_a_link_alone(channel: Channel) -> None:
    _, shown = await channel.ask(kind="login", reason="Sign in")
    [row] = shown["components"]
    assert row["components"] == [{"type": 2, "style": 5, "label": "Open", "url": "https://sandbox.example/link"}]


@pytest.mark.parametrize(
    "interaction",
    [
        {"type": 3},
        {"type": 3, "member": {"user": {"id": ANN}}, "data": {"custom_id": "h-0:0:0"}},
        {"type": 3, "member": {"user": {"id": ANN}}, "data": {"custom_id": 7}, "message": []},
        {"type": 3, "member": {"user": {"id": [ANN]}}},
        {"type": 5, "user": {"id": ANN}, "data": {"custom_id": "h-0:99:0", "components": {"a": 1}}},
    ],
)
async def test_what_makes_no_sense_is_refused_and_the_next_answer_is_taken(channel: Channel, interaction: dict[str, Any]) -> None:
    refused = await channel.called_back(channel.discord.arrive(interaction))
    confirm, shown = await channel.ask(kind="confirm")
    channel.discord.press(shown, "No", ANN)

    assert refused["type"] == 4
    assert (await channel.end(confirm)).confirmed is False


async def test_it_connects_again_when_discord_asks_for_it_and_when_the_connection_ends(channel: Channel) -> None:
    channel.discord.send({"op": 7, "d": None})
    await eventually(lambda: channel.discord.identified == 2 and len(channel.discord.sockets) == 2)
    channel.discord.close(4000)
    await eventually(lambda: channel.discord.identified == 3 and len(channel.discord.sockets) == 2)
    confirm, shown = await channel.ask(kind="confirm")
    channel.discord.press(shown, "Yes", ANN)

    assert (await channel.end(confirm)).confirmed is True


async def test_a_bot_that_is_not_let_in_does_not_ask_again(
    discord: DiscordServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "FATAL", frozenset({4999}))
    store, opened = queue(tmp_path)
    bot, buttons = DiscordBot(f"http://127.0.0.1:{discord.port}/api/v10", TOKEN, "1.0"), ChatAnswers(opened, b"key")
    target = ChatTarget(DiscordRoom(bot, CHANNEL, buttons), opened)
    async with store, opened, target, DiscordAnswers(bot, (ANN,), buttons, target):
        await eventually(lambda: discord.sockets)
        discord.close(4999)
        await eventually(lambda: "is not asked again" in caplog.text)
    assert TOKEN not in caplog.text
    assert discord.identified == 1
