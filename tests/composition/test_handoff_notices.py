"""Who is told of a handoff."""

import asyncio

import pytest

from sandbox_server.composition.agent_tools import build_ports
from sandbox_server.composition.handoff_notices import build_handoffs, chats_of, signing_key, targets_of
from sandbox_server.composition.live_events import LiveEvents
from sandbox_server.core import Call, Caller
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.discord_answers import DiscordAnswers
from sandbox_server.features.handoff.notifier import HandoffNotifier
from sandbox_server.features.handoff.slack_answers import SlackAnswers
from sandbox_server.features.handoff.telegram_answers import TelegramAnswers
from sandbox_server.features.ports.port_events import PortEvents
from sandbox_server.settings import load
from tests.composition.made import first

EVERYWHERE = {
    "HANDOFF_WEBHOOK_URL": "https://hook.example",
    "HANDOFF_WEBHOOK_SECRET": "s",
    "HANDOFF_SLACK_URL": "https://slack.example",
    "HANDOFF_TELEGRAM_TOKEN": "1:a",
    "HANDOFF_TELEGRAM_CHAT": "7",
    "HANDOFF_NTFY_URL": "https://ntfy.example/topic",
    "HANDOFF_SMTP_URL": "smtps://me:pass@mail.example",
    "HANDOFF_MAIL_FROM": "a@example.com",
    "HANDOFF_MAIL_TO": "b@example.com",
}


def test_everybody_is_told_that_the_settings_name() -> None:
    targets = list(targets_of(load(EVERYWHERE).handoff))

    assert list(targets_of(load({}).handoff)) == []
    assert [target.name for target in targets] == ["webhook", "slack", "ntfy", "mail"]
    assert targets[3].secrets == ("pass",)


def test_notices_are_opened_beside_the_operations() -> None:
    made = first(**EVERYWHERE)
    ports = PortEvents(build_ports(made.machine), made.machine.ports)
    part = build_handoffs(made.machine.settings, made.handoffs, made.control, made.machine.owner.drop, ports)

    assert [feature.tag for feature in part.features] == ["handoffs", "control"]
    assert [type(each) for each in part.opened] == [ChatTarget, HandoffNotifier]


CHATS = {
    "HANDOFF_SLACK_TOKEN": "xoxb-s3cret",
    "HANDOFF_SLACK_CHANNEL": "C012AB3CD",
    "HANDOFF_SLACK_APP_TOKEN": "xapp-s3cret",
    "HANDOFF_DISCORD_TOKEN": "s3cret.bot",
    "HANDOFF_DISCORD_CHANNEL": "155117677105512449",
    "HANDOFF_TELEGRAM_TOKEN": "1:a",
    "HANDOFF_TELEGRAM_CHAT": "7",
}
USERS = {"HANDOFF_SLACK_USERS": "U0ANN", "HANDOFF_DISCORD_USERS": "80351110224678912", "HANDOFF_TELEGRAM_USERS": "7, 8"}


def test_answers_are_taken_from_chats_where_somebody_may_answer() -> None:
    made = first()
    told = list(chats_of(load(CHATS).handoff, made.handoffs.queue))
    answering = list(chats_of(load(CHATS | USERS).handoff, made.handoffs.queue))

    assert [(chat.target.name, chat.answers) for chat in told] == [("slack", None), ("telegram", None), ("discord", None)]
    assert [type(chat.answers) for chat in answering] == [SlackAnswers, TelegramAnswers, DiscordAnswers]
    assert answering[0].target.secrets == ("xoxb-s3cret", "xapp-s3cret")
    assert list(chats_of(load({}).handoff, made.handoffs.queue)) == []


def test_a_button_of_one_chat_is_none_of_another() -> None:
    assert len({signing_key("token", "a"), signing_key("token", "b"), signing_key("other", "a")}) == 3


@pytest.mark.anyio
async def test_a_page_follows_who_drives_and_what_is_asked() -> None:
    made = first()
    ports = PortEvents(build_ports(made.machine), made.machine.ports)
    part = build_handoffs(made.machine.settings, made.handoffs, made.control, made.machine.owner.drop, ports)
    live = part.features[1]
    assert isinstance(live, LiveEvents)

    events = await live.live_events(Call(Caller("ann", scopes=frozenset({"view"})), "request"))
    async with asyncio.timeout(30):
        told = {(await anext(events)).event for _ in range(2)}
    await events.aclose()

    assert told == {"control", "handoffs"}
