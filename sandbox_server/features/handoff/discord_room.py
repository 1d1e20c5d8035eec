"""A channel of Discord: a message for each handoff, with the agent's words as a block of code, and buttons that answer."""

from dataclasses import dataclass
from itertools import batched
from typing import Any
from urllib.parse import quote

from sandbox_server.drivers.clients.discord import DiscordBot
from sandbox_server.drivers.clients.json_calls import field
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.chat_answers import MAX_TEXT, ChatAnswers
from sandbox_server.features.handoff.chat_rooms import ending
from sandbox_server.features.handoff.handoff import Handoff, NotificationChannel
from sandbox_server.features.handoff.notification_targets import details, subject

MAX_CONTENT = 1500
"""Characters of the agent's words; a message has at most 2000."""
MAX_LINK = 512
SUPPRESS_EMBEDS = 1 << 2
ROW, BUTTON, TEXT_INPUT, LABEL = 1, 2, 4, 18
"""Types of components."""
GREY, LINK = 2, 5
SHORT, PARAGRAPH = 1, 2
"""Styles of buttons, and of text inputs."""
BUTTONS_IN_ROW = 5
FORM = "answer"
_NOBODY: dict[str, list[str]] = {"parse": []}


@dataclass(frozen=True, slots=True)
class DiscordMessage:
    """A message: its channel's id and its own."""

    channel: str
    id: str


@dataclass(frozen=True)
class DiscordRoom:
    """The channel. Without `answers` its messages have a link alone."""

    bot: DiscordBot
    channel: str
    answers: ChatAnswers | None = None
    name: NotificationChannel = "discord"

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.bot.secrets

    async def post(self, handoff: Handoff, link: str | None) -> tuple[DeliveryResult, DiscordMessage | None]:
        """Post a message. No mention in it notifies anybody, and no address in it is previewed."""
        long_link = f"\n<{link}>" if link and len(link) > MAX_LINK else ""
        rows = [{"type": ROW, "components": list(row)} for row in batched(self._buttons(handoff, link), BUTTONS_IN_ROW, strict=False)]
        shown = {"content": _quoted(handoff) + long_link, "flags": SUPPRESS_EMBEDS, "allowed_mentions": _NOBODY, "components": rows}
        result, answer = await self.bot.deliver("POST", f"/channels/{quote(self.channel, safe='')}/messages", shown)
        return result, message_of(field(answer, "channel_id"), field(answer, "id"))

    async def show_end(self, message: DiscordMessage, handoff: Handoff) -> None:
        """Replace a message. Raises Unavailable."""
        shown = {"content": f"{_quoted(handoff)}\n{_code(ending(handoff))}", "allowed_mentions": _NOBODY, "components": []}
        await self.bot.call("PATCH", f"/channels/{quote(message.channel, safe='')}/messages/{quote(message.id, safe='')}", shown)

    def _buttons(self, handoff: Handoff, link: str | None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if self.answers:
            given = [*self.answers.buttons(handoff), *filter(None, [self.answers.text_button(handoff)])]
            found = [{"type": BUTTON, "style": GREY, "label": button.label, "custom_id": button.data} for button in given]
        return [*found, {"type": BUTTON, "style": LINK, "label": "Open", "url": link}] if link and len(link) <= MAX_LINK else found


def message_of(channel: object, message: object) -> DiscordMessage | None:
    """A message by the names that Discord gives it; None if these are no names."""
    return DiscordMessage(channel, message) if isinstance(channel, str) and isinstance(message, str) else None


def form(handoff: Handoff, data: str) -> dict[str, Any]:
    """The form for a text, which keeps the button that opened it."""
    style = PARAGRAPH if handoff.kind == "free" else SHORT
    entry = {"type": TEXT_INPUT, "custom_id": FORM, "style": style, "min_length": 1, "max_length": MAX_TEXT, "required": True}
    label = handoff.fields[0].label if handoff.fields else handoff.reason
    return {"custom_id": data, "title": "Answer", "components": [{"type": LABEL, "label": _short(label), "component": entry}]}


def submitted_text(components: object) -> str:
    """What a submitted form says; empty if it has no text."""
    for part in components if isinstance(components, list) else ():
        value = field(part, "component", "value")
        if field(part, "component", "custom_id") == FORM and isinstance(value, str):
            return value
    return ""


def _quoted(handoff: Handoff) -> str:
    text = "\n\n".join(filter(None, (subject(handoff), details(handoff))))
    return _code(text if len(text) <= MAX_CONTENT else f"{text[: MAX_CONTENT - 1]}…")


def _code(text: str) -> str:
    """A block of code, which no text can end: each of its backticks becomes an apostrophe."""
    return f"```\n{text.replace('`', "'")}\n```"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 45 else f"{line[:44]}…"
