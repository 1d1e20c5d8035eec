"""People are told of what is asked of them: a signed webhook, tried again until it is taken or the time is over."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Tasks
from sandbox_server.drivers.webhook import Answer, post
from sandbox_server.features.handoff.desk import Desk
from sandbox_server.features.handoff.wire import Delivery, Handoff

PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds between two tries; the last holds for all that follow."""
MAX_DELIVERIES = 50

type Post = Callable[[str, bytes, dict[str, str]], Awaitable[Answer]]
type Link = Callable[[Handoff], str | None]
"""Makes the address at which a person finds the request."""


class Notices:
    """Tells a webhook of every handoff that is asked; an asynchronous context manager."""

    def __init__(self, desk: Desk, url: str, secret: str | None, link: Link, send: Post = post) -> None:
        self._desk = desk
        self._url = url
        self._secret = secret
        self._link = link
        self._send = send
        self._tasks = Tasks()
        desk.asked = self.tell

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def tell(self, handoff: Handoff) -> None:
        """Tell of one, in the background, unless that was done."""
        if not any(_taken(delivery) for delivery in handoff.deliveries):
            self._tasks.start(self._deliver(handoff.id), name=f"tell of {handoff.id}")

    async def _deliver(self, handoff: str) -> None:
        tries = 0
        while (found := self._desk.get(handoff)).status == "open" and len(found.deliveries) < MAX_DELIVERIES:
            delivery = await self._try(found)
            latest = self._desk.get(handoff)
            await self._desk.keep(latest.model_copy(update={"deliveries": [*latest.deliveries, delivery]}))
            if _taken(delivery):
                return
            await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    async def _try(self, handoff: Handoff) -> Delivery:
        body = json.dumps(message(handoff, await asyncio.to_thread(self._link, handoff))).encode()
        at = time.time()
        answer = await self._send(self._url, body, {"Content-Type": "application/json"} | signature(self._secret, body, at))
        return Delivery(at=at, status=answer.status, error=answer.error)


def message(handoff: Handoff, link: str | None) -> dict[str, Any]:
    """What the webhook is posted; `text` is what Slack, Mattermost and their kin show."""
    text = f"The agent asks for a person ({handoff.kind}): {handoff.reason}"
    told = handoff.model_dump(include={"id", "kind", "reason", "instructions", "url", "choices", "deadline_at", "asked_by", "created_at"})
    return {"type": "handoff", "text": f"{text}\n{link}" if link else text, "link": link, "handoff": told}


def signature(secret: str | None, body: bytes, at: float) -> dict[str, str]:
    """The headers that prove who sent it and when: HMAC-SHA256 over the time in seconds, a dot, and the body."""
    if secret is None:
        return {}
    moment = str(int(at))
    digest = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Tandem-Timestamp": moment, "X-Tandem-Signature": f"sha256={digest}"}


def _taken(delivery: Delivery) -> bool:
    return delivery.status is not None and 200 <= delivery.status < 300
