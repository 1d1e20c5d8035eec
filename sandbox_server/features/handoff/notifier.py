"""Notifies people of handoffs on every configured target. Failed deliveries are retried until the deadline."""

import asyncio
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from sandbox_server.core import Tasks
from sandbox_server.features.handoff.handoff import Delivery, Handoff, NotificationChannel
from sandbox_server.features.handoff.notification_targets import NotificationTarget
from sandbox_server.features.handoff.queue import HandoffQueue

PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds between two attempts. The last value holds for all further ones."""
MAX_TRIES = 50
"""Limit of attempts per target."""

type MakeLink = Callable[[Handoff], str | None]
"""Makes the URL at which a person finds the request."""


class HandoffNotifier:
    """Notifies every target of every handoff; an asynchronous context manager."""

    def __init__(self, queue: HandoffQueue, targets: Iterable[NotificationTarget], link: MakeLink) -> None:
        self._queue = queue
        self._targets = list(targets)
        self._link = link
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._queue.follow(self.tell)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def tell(self, handoff: Handoff) -> None:
        """Notify the targets that were not notified yet, in the background."""
        for target in self._targets:
            if not any(_taken(each) for each in tries(handoff, target.name)):
                self._tasks.start(self._deliver(handoff.id, target), name=f"tell {target.name} of {handoff.id}")

    async def _deliver(self, handoff: str, target: NotificationTarget) -> None:
        pauses = iter(PAUSES)
        while (found := self._queue.get(handoff)).status == "open" and len(tries(found, target.name)) < MAX_TRIES:
            delivery = await self._try(found, target)
            await self._queue.delivered(handoff, delivery)
            if _taken(delivery):
                return
            await asyncio.sleep(next(pauses, PAUSES[-1]))

    async def _try(self, handoff: Handoff, target: NotificationTarget) -> Delivery:
        link, at = await asyncio.to_thread(self._link, handoff), time.time()
        answer = await target.tell(handoff, link)
        return Delivery(
            to=target.name, at=at, status=answer.status, error=masked_error(answer.error, [*target.secrets, *filter(None, [link])])
        )


def tries(handoff: Handoff, name: NotificationChannel) -> list[Delivery]:
    """Return the deliveries to one target."""
    return [each for each in handoff.deliveries if each.to == name]


def masked_error(error: str | None, secrets: Iterable[str]) -> str | None:
    """Return an error with secrets masked."""
    for secret in secrets:
        error = error and error.replace(secret, "***")
    return error


def _taken(delivery: Delivery) -> bool:
    return delivery.status is not None and 200 <= delivery.status < 300
