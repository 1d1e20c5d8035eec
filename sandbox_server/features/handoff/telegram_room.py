"""A chat of Telegram: a message for each handoff, as plain text, with buttons that answer or a word on how to reply."""

from dataclasses import dataclass
from typing import Any

from sandbox_server.drivers.clients.json_calls import field
from sandbox_server.drivers.clients.telegram import TelegramBot
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.chat_answers import ChatAnswers, takes_text
from sandbox_server.features.handoff.chat_rooms import ending
from sandbox_server.features.handoff.handoff import Handoff, NotificationChannel
from sandbox_server.features.handoff.notification_targets import details, subject

_NO_PREVIEW = {"is_disabled": True}
"""A preview of a link would use it up."""


@dataclass(frozen=True, slots=True)
class TelegramMessage:
    """A message: its chat's number and its own."""

    chat: int
    id: int


@dataclass(frozen=True)
class TelegramRoom:
    """The chat, by its number or `@name`. Without `answers` its messages have a link alone."""

    bot: TelegramBot
    chat: str
    answers: ChatAnswers | None = None
    name: NotificationChannel = "telegram"

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.bot.secrets

    async def post(self, handoff: Handoff, link: str | None) -> tuple[DeliveryResult, TelegramMessage | None]:
        """Post a message with `sendMessage`."""
        how = f"Reply to this message to answer. #{handoff.id}" if self.answers and takes_text(handoff) else ""
        shown: dict[str, Any] = {"text": _joined(subject(handoff), details(handoff), link or "", how), "link_preview_options": _NO_PREVIEW}
        if self.answers and (buttons := self.answers.buttons(handoff)):
            rows = [[{"text": button.label, "callback_data": button.data}] for button in buttons]
            shown["reply_markup"] = {"inline_keyboard": rows}
        result, posted = await self.bot.deliver("sendMessage", chat_id=self.chat, **shown)
        return result, message_of(field(posted, "chat", "id"), field(posted, "message_id"))

    async def show_end(self, message: TelegramMessage, handoff: Handoff) -> None:
        """Replace a message with `editMessageText`. Raises Unavailable."""
        text = _joined(subject(handoff), details(handoff), ending(handoff))
        await self.bot.call("editMessageText", chat_id=message.chat, message_id=message.id, text=text, link_preview_options=_NO_PREVIEW)


def message_of(chat: object, message: object) -> TelegramMessage | None:
    """A message by the numbers that Telegram gives it; None if these are no numbers."""
    return TelegramMessage(chat, message) if isinstance(chat, int) and isinstance(message, int) else None


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
