"""A channel of Slack: a message for each handoff, as plain text, with buttons that answer."""

from dataclasses import dataclass
from typing import Any

from sandbox_server.drivers.clients.json_calls import field
from sandbox_server.drivers.clients.slack import SlackApp
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.chat_answers import MAX_TEXT, ChatAnswers
from sandbox_server.features.handoff.chat_rooms import ending
from sandbox_server.features.handoff.handoff import Handoff, NotificationChannel
from sandbox_server.features.handoff.notification_targets import details, subject

MAX_INPUT = 3000
"""Of a text input, in characters; MAX_TEXT is larger."""
FORM = "answer"
"""The name of the form, of its block and of its input."""


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """A message: its channel's id and its timestamp, which names it there."""

    channel: str
    ts: str


@dataclass(frozen=True)
class SlackRoom:
    """The channel. Without `answers` its messages have a link alone."""

    app: SlackApp
    channel: str
    answers: ChatAnswers | None = None
    name: NotificationChannel = "slack"

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.app.secrets

    async def post(self, handoff: Handoff, link: str | None) -> tuple[DeliveryResult, SlackMessage | None]:
        """Post a message with `chat.postMessage`."""
        blocks = [*_texts(handoff), *_actions(self._buttons(handoff, link))]
        shown = {"text": _escaped(subject(handoff)), "blocks": blocks, "unfurl_links": False, "unfurl_media": False}
        result, answer = await self.app.deliver("chat.postMessage", channel=self.channel, **shown)
        return result, message_of(field(answer, "channel"), field(answer, "ts"))

    async def show_end(self, message: SlackMessage, handoff: Handoff) -> None:
        """Replace a message with `chat.update`. Raises Unavailable."""
        end = {"type": "context", "elements": [plain(ending(handoff))]}
        blocks = [*_texts(handoff), end]
        await self.app.call("chat.update", channel=message.channel, ts=message.ts, text=_escaped(subject(handoff)), blocks=blocks)

    def _buttons(self, handoff: Handoff, link: str | None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if self.answers:
            given = [*self.answers.buttons(handoff), *filter(None, [self.answers.text_button(handoff)])]
            found = [_button(button.label, f"answer-{number}", value=button.data) for number, button in enumerate(given)]
        return [*found, _button("Open", "open", url=link)] if link else found


def message_of(channel: object, ts: object) -> SlackMessage | None:
    """A message by the names that Slack gives it; None if these are no names."""
    return SlackMessage(channel, ts) if isinstance(channel, str) and isinstance(ts, str) else None


def form(handoff: Handoff, data: str) -> dict[str, Any]:
    """The form for a text, which keeps the button that opened it."""
    entry = {"type": "plain_text_input", "action_id": FORM, "min_length": 1, "max_length": min(MAX_INPUT, MAX_TEXT)}
    label = handoff.fields[0].label if handoff.fields else subject(handoff)
    block = {"type": "input", "block_id": FORM, "label": plain(label), "element": entry | {"multiline": handoff.kind == "free"}}
    view = {"type": "modal", "callback_id": FORM, "private_metadata": data, "blocks": [block]}
    return {**view, "title": plain("Answer"), "submit": plain("Send"), "close": plain("Cancel")}


def plain(text: str) -> dict[str, str]:
    """A text without markup."""
    return {"type": "plain_text", "text": text}


def _texts(handoff: Handoff) -> list[dict[str, Any]]:
    text = details(handoff)
    header = {"type": "header", "text": plain(subject(handoff))}
    return [header, {"type": "section", "text": plain(text)}] if text else [header]


def _actions(buttons: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "actions", "elements": buttons}] if buttons else []


def _button(label: str, action: str, **more: str) -> dict[str, Any]:
    return {"type": "button", "text": plain(label), "action_id": action, **more}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
