"""The handoffs' operations, and notifications of people."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandbox_server import __version__
from sandbox_server.composition.control import ControlParts
from sandbox_server.composition.handoff import HandoffParts
from sandbox_server.composition.live_events import Follow, LiveEvents
from sandbox_server.composition.part import ProductPart
from sandbox_server.core.identity import Caller
from sandbox_server.drivers.clients.discord import DiscordBot
from sandbox_server.drivers.clients.mail import MailServer
from sandbox_server.drivers.clients.slack import SlackApp
from sandbox_server.drivers.clients.telegram import TelegramBot
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.discord_answers import DiscordAnswers
from sandbox_server.features.handoff.discord_room import DiscordRoom
from sandbox_server.features.handoff.handoffs import Claimed, Drop, Handoffs
from sandbox_server.features.handoff.notification_targets import (
    MailTarget,
    NotificationTarget,
    NtfyTarget,
    SlackTarget,
    WebhookTarget,
)
from sandbox_server.features.handoff.notifier import HandoffNotifier
from sandbox_server.features.handoff.queue import HandoffQueue
from sandbox_server.features.handoff.slack_answers import SlackAnswers
from sandbox_server.features.handoff.slack_room import SlackRoom
from sandbox_server.features.handoff.telegram_answers import TelegramAnswers
from sandbox_server.features.handoff.telegram_room import TelegramRoom
from sandbox_server.features.ports.port_events import PortEvents
from sandbox_server.settings import Settings
from sandbox_server.settings.handoff import HandoffSettings


def build_handoffs(
    settings: Settings, handoffs: HandoffParts, control: ControlParts, drop: Drop, ports: PortEvents, *more: Follow
) -> ProductPart:
    """Make the operations and the notifier. `drop` fills a secret into a page; pages follow `ports` and `more`, too."""
    claimed = private_by(handoffs.queue, control.keeper, wanted=settings.control.private_handoff)
    chats = list(chats_of(settings.handoff, handoffs.queue))
    targets = [*targets_of(settings.handoff), *(chat.target for chat in chats)]
    notices = HandoffNotifier(handoffs.queue, targets, handoffs.links.make)
    asked = Handoffs(handoffs.queue, claimed, drop)
    opened = (*(chat.target for chat in chats), notices, *(chat.answers for chat in chats if chat.answers))
    return ProductPart((asked, LiveEvents(control.lease.follow, asked.handoff_events, ports.follow, *more)), opened)


@dataclass(frozen=True, slots=True)
class Chat:
    """A channel of a chat service, and what takes answers there, if anybody may answer."""

    target: ChatTarget[Any]
    answers: SlackAnswers | DiscordAnswers | TelegramAnswers | None


def chats_of(handoff: HandoffSettings, queue: HandoffQueue) -> Iterator[Chat]:
    """Yield the chats in the settings."""
    yield from slack_of(handoff, queue)
    yield from telegram_of(handoff, queue)
    yield from discord_of(handoff, queue)


def slack_of(handoff: HandoffSettings, queue: HandoffQueue) -> Iterator[Chat]:
    """Yield the channel of Slack, if the settings name one."""
    if not handoff.slack_token or not handoff.slack_channel:
        return
    token, app_token = handoff.slack_token.reveal(), handoff.slack_app_token.reveal() if handoff.slack_app_token else None
    app = SlackApp(handoff.slack_api, token, app_token)
    buttons = ChatAnswers(queue, signing_key(token, handoff.slack_channel)) if handoff.slack_users else None
    target = ChatTarget(SlackRoom(app, handoff.slack_channel, buttons), queue)
    yield Chat(target, SlackAnswers(app, handoff.slack_users, buttons, target) if buttons else None)


def discord_of(handoff: HandoffSettings, queue: HandoffQueue) -> Iterator[Chat]:
    """Yield the channel of Discord, if the settings name one."""
    if not handoff.discord or not handoff.discord_channel:
        return
    bot = DiscordBot(handoff.discord_api, handoff.discord.reveal(), __version__)
    buttons = ChatAnswers(queue, signing_key(handoff.discord.reveal(), handoff.discord_channel)) if handoff.discord_users else None
    target = ChatTarget(DiscordRoom(bot, handoff.discord_channel, buttons), queue)
    yield Chat(target, DiscordAnswers(bot, handoff.discord_users, buttons, target) if buttons else None)


def telegram_of(handoff: HandoffSettings, queue: HandoffQueue) -> Iterator[Chat]:
    """Yield the chat of Telegram, if the settings name one."""
    if not handoff.telegram or not handoff.telegram_chat:
        return
    bot = TelegramBot(handoff.telegram_url, handoff.telegram.reveal())
    buttons = ChatAnswers(queue, signing_key(handoff.telegram.reveal(), handoff.telegram_chat)) if handoff.telegram_users else None
    target = ChatTarget(TelegramRoom(bot, handoff.telegram_chat, buttons), queue)
    yield Chat(target, TelegramAnswers(bot, handoff.telegram_users, buttons, target) if buttons else None)


def signing_key(token: str, chat: str) -> bytes:
    """Return the key that signs the buttons of a chat, made of the bot's token."""
    return hashlib.sha256(token.encode() + b"\0" + f"buttons of {chat}".encode()).digest()


def targets_of(handoff: HandoffSettings) -> Iterator[NotificationTarget]:
    """Yield the notification targets in the settings that are no chats."""
    if handoff.webhook:
        yield WebhookTarget(handoff.webhook, handoff.secret.reveal() if handoff.secret else None)
    if handoff.slack:
        yield SlackTarget(handoff.slack.reveal())
    if handoff.ntfy:
        yield NtfyTarget(handoff.ntfy.reveal(), handoff.ntfy_token.reveal() if handoff.ntfy_token else None)
    if handoff.smtp and handoff.mail_from:
        yield MailTarget(MailServer.at(handoff.smtp.reveal()), handoff.mail_from, handoff.mail_to)


def private_by(queue: HandoffQueue, keeper: LeaseKeeper, *, wanted: bool) -> Claimed:
    """Return a function that starts private mode when the person who has control claims a handoff of a private kind."""

    async def claimed(caller: Caller) -> None:
        if wanted and keeper.holding.is_holder(caller) and queue.asks_privacy(caller.name):
            await keeper.hide("handoff")

    return claimed
