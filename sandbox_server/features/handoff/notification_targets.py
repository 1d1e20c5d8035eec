"""Where people are notified of handoffs: a webhook, Slack, ntfy, mail; chats that are answered in have `chat_rooms`."""

import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any, Protocol

from sandbox_server.drivers.clients import mail
from sandbox_server.drivers.clients.mail import MailServer
from sandbox_server.drivers.clients.webhook import DeliveryResult, post
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.handoff.handoff import Approval, Handoff, NotificationChannel

SUBJECT_LENGTH = 150
TEXT_LENGTH = 3000
"""Limit of characters that every target accepts."""
DETAIL_LENGTH = 300
_REDACTION = Redaction()

type Post = Callable[[str, bytes, dict[str, str]], Awaitable[DeliveryResult]]
type SendMail = Callable[[MailServer, EmailMessage], Awaitable[DeliveryResult]]


class NotificationTarget(Protocol):
    """One way to notify people."""

    @property
    def name(self) -> NotificationChannel:
        """Its name in the deliveries."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no error message may contain."""
        ...

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        """Notify once. A status from 200 to 299 means success."""
        ...


@dataclass(frozen=True)
class WebhookTarget:
    """A signed POST of the request as JSON; `text` is what Mattermost and similar services show."""

    url: str
    secret: str | None
    send: Post = post
    name: NotificationChannel = "webhook"

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.url, *filter(None, [self.secret]))

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        body, at = json.dumps(message(handoff, link)).encode(), time.time()
        return await self.send(self.url, body, {"Content-Type": "application/json"} | signature(self.secret, body, at))


@dataclass(frozen=True)
class SlackTarget:
    """A message with a button, without markup, and without a link preview, which would use up the link."""

    url: str
    send: Post = post
    name: NotificationChannel = "slack"

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.url,)

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        title, text = subject(handoff), details(handoff)
        blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain_text_block(title)}]
        if text:
            blocks.append({"type": "section", "text": _plain_text_block(text)})
        if link:
            blocks.append({"type": "actions", "elements": [{"type": "button", "text": _plain_text_block("Open"), "url": link}]})
        shown = {"text": _escape_markup(title), "blocks": blocks, "unfurl_links": False, "unfurl_media": False}
        return await _post_json(self.send, self.url, shown)


@dataclass(frozen=True)
class NtfyTarget:
    """A notification that opens the page when it is tapped."""

    topic: str
    token: str | None
    send: Post = post
    name: NotificationChannel = "ntfy"

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.topic, *filter(None, [self.token]))

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        server, _, topic = self.topic.rstrip("/").rpartition("/")
        shown = {
            "topic": topic,
            "title": subject(handoff),
            "message": details(handoff) or handoff.kind,
            "priority": 4,
            "tags": ["raising_hand"],
        }
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return await _post_json(self.send, f"{server}/", shown | ({"click": link} if link else {}), headers)


@dataclass(frozen=True)
class MailTarget:
    """A mail of plain text."""

    server: MailServer
    sender: str
    receivers: tuple[str, ...]
    send: SendMail = mail.send
    name: NotificationChannel = "mail"

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(filter(None, [self.server.password]))

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        written = EmailMessage()
        written["Subject"], written["From"], written["To"] = subject(handoff), self.sender, ", ".join(self.receivers)
        written["Date"], written["Message-ID"] = formatdate(), make_msgid(domain=self.sender.rpartition("@")[2])
        written["Auto-Submitted"] = "auto-generated"
        written.set_content("\n\n".join(filter(None, (handoff.reason, details(handoff), link))) + "\n")
        return await self.send(self.server, written)


def message(handoff: Handoff, link: str | None) -> dict[str, Any]:
    """Return the JSON for a webhook."""
    text = f"The agent asks for a person ({handoff.kind}): {handoff.reason}"
    told = handoff.model_dump(
        include={"id", "kind", "reason", "instructions", "url", "choices", "fields", "deadline_at", "asked_by", "created_at"}
    )
    if handoff.approval:
        told["approval"] = {
            "subject": handoff.approval.subject,
            "rule": handoff.approval.rule,
            "details": _redacted_details(handoff.approval),
        }
    return {"type": "handoff", "text": f"{text}\n{link}" if link else text, "link": link, "handoff": told}


def subject(handoff: Handoff) -> str:
    """Return one line."""
    line = " ".join(f"The agent asks for a person ({handoff.kind}): {handoff.reason}".split())
    return line if len(line) <= SUBJECT_LENGTH else f"{line[: SUBJECT_LENGTH - 1]}…"


def details(handoff: Handoff) -> str:
    """Return the instructions, the URL and the choices, or what an approval is about."""
    if handoff.approval:
        return "\n".join(f"{name}: {text}" for name, text in _redacted_details(handoff.approval).items())[:TEXT_LENGTH]
    return "\n".join(filter(None, (handoff.instructions, handoff.url, " / ".join(handoff.choices))))[:TEXT_LENGTH]


def signature(secret: str | None, body: bytes, at: float) -> dict[str, str]:
    """Return the signature headers: HMAC-SHA256 over the time in seconds, a dot, and the body."""
    if secret is None:
        return {}
    moment = str(int(at))
    digest = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Tandem-Timestamp": moment, "X-Tandem-Signature": f"sha256={digest}"}


def _redacted_details(approval: Approval) -> dict[str, str]:
    """Return the details without what looks like a secret: they leave the sandbox."""
    return {name: _REDACTION.text(text, DETAIL_LENGTH) for name, text in approval.details.items()}


async def _post_json(send: Post, url: str, shown: dict[str, Any], headers: dict[str, str] | None = None) -> DeliveryResult:
    return await send(url, json.dumps(shown).encode(), {"Content-Type": "application/json", **(headers or {})})


def _plain_text_block(text: str) -> dict[str, str]:
    return {"type": "plain_text", "text": text}


def _escape_markup(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
