"""Notifies people of handoffs on every target: one message at a time, at a rate for each asker, and only about those that are open.

So an agent that asks and withdraws without end fills neither a person's channel nor the threads that others need. Failed deliveries are
retried until the deadline. A message that is held back for its asker's rate is a delivery that says so, and is sent later.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from sandbox_server.core import Failure, NotFound, ResourceExhausted, Tasks
from sandbox_server.core.quota import owner_of
from sandbox_server.core.rate_limit import RateLimit
from sandbox_server.core.tasks import in_access_thread
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.handoff import Delivery, Handoff, NotificationChannel
from sandbox_server.features.handoff.notification_targets import NotificationTarget
from sandbox_server.features.handoff.queue import HandoffQueue

PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds between two attempts. The last value holds for all further ones."""
MAX_TRIES = 50
"""Limit of attempts per target."""
MESSAGES_AT_ONCE = 10
MESSAGES_PER_SECOND = 0.1
"""How many messages about the requests of one asker a target gets. About those of all askers it gets four times that."""

type MakeLink = Callable[[Handoff], str | None]
"""Makes the URL at which a person finds the request. It works on small files. Raises Failure."""


def message_rate() -> RateLimit:
    """Return the rate of one target."""
    return RateLimit("messages about requests of one asker", MESSAGES_AT_ONCE, MESSAGES_PER_SECOND)


@dataclass(eq=False)
class _Waiting:
    """A handoff of which the target is to be told."""

    id: str
    asker: str
    due: float
    """When the next attempt is, by the loop's clock."""
    link: str | None = None
    """The link of earlier attempts, which may have arrived."""
    held: bool = False
    """Whether its deliveries say that it was held back."""
    pauses: Iterator[float] = field(default_factory=lambda: iter(PAUSES))


class _Sender:
    """Tells one target of the handoffs that are added, for as long as `run` is awaited."""

    def __init__(self, queue: HandoffQueue, target: NotificationTarget, link: MakeLink, rate: RateLimit) -> None:
        self._queue = queue
        self._target = target
        self._link = link
        self._rate = rate
        self._waiting: dict[str, _Waiting] = {}
        self._served: dict[str, float] = {}
        """When each asker that waits was last served."""
        self._came = asyncio.Event()

    @property
    def name(self) -> NotificationChannel:
        """The target's name."""
        return self._target.name

    def add(self, handoff: Handoff) -> None:
        """Take a handoff, unless it waits already."""
        self._waiting.setdefault(handoff.id, _Waiting(handoff.id, owner_of(handoff.asked_by, person=False), self._now()))
        self._came.set()

    async def run(self) -> None:
        """Send until nothing waits."""
        while self._waiting:
            for ended in [each for each in self._waiting if self._open(each) is None]:
                del self._waiting[ended]
            now = self._now()
            if due := [each for each in self._waiting.values() if each.due <= now]:
                await self._attempt(min(due, key=lambda each: (self._served.get(each.asker, 0.0), each.due)))
            elif self._waiting:
                await self._wait_until(min(each.due for each in self._waiting.values()))
        self._served.clear()

    async def _wait_until(self, due: float) -> None:
        self._came.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._came.wait()

    async def _attempt(self, chosen: _Waiting) -> None:
        """Send one message, or hold it back. Its asker comes after others next time, so that none waits for another's requests."""
        self._served[chosen.asker] = self._now()
        try:
            self._rate.take(chosen.asker)
        except ResourceExhausted as refusal:
            chosen.due = self._now() + (refusal.retry_after or 1.0)
            if not chosen.held:
                chosen.held = True
                await self._record(chosen, DeliveryResult(None, f"held back for a while: {refusal.message}"))
            return
        await self._send(chosen)

    async def _send(self, chosen: _Waiting) -> None:
        chosen.due = self._now() + next(chosen.pauses, PAUSES[-1])
        error = await self._make_link(chosen)
        handoff = self._open(chosen.id)
        if handoff is None:
            return
        answer = DeliveryResult(None, error) if error else await self._target.tell(handoff, chosen.link)
        delivery = await self._record(chosen, answer)
        if _taken(delivery) or self._given_up(chosen):
            del self._waiting[chosen.id]

    async def _make_link(self, chosen: _Waiting) -> str | None:
        """Make the link of a handoff, once. Return why there is none that could be made."""
        handoff = self._open(chosen.id)
        if handoff and not chosen.link:
            try:
                chosen.link = await in_access_thread(self._link, handoff)
            except Failure as failure:
                return f"no link could be made: {failure.message}"
        return None

    async def _record(self, chosen: _Waiting, answer: DeliveryResult) -> Delivery:
        error = masked_error(answer.error, [*self._target.secrets, *filter(None, [chosen.link])])
        delivery = Delivery(to=self.name, at=time.time(), status=answer.status, error=error)
        with suppress(NotFound):  # it ended meanwhile, and was forgotten
            await self._queue.delivered(chosen.id, delivery)
        return delivery

    def _given_up(self, chosen: _Waiting) -> bool:
        handoff = self._open(chosen.id)
        return handoff is not None and len(tries(handoff, self.name)) >= MAX_TRIES

    def _open(self, handoff: str) -> Handoff | None:
        """Return a handoff that waits for a person; None for one that somebody has claimed, that has ended or is forgotten."""
        with suppress(NotFound):
            found = self._queue.get(handoff)
            return found if found.status == "open" else None
        return None

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


class HandoffNotifier:
    """Notifies every target of every handoff; an asynchronous context manager."""

    def __init__(self, queue: HandoffQueue, targets: Iterable[NotificationTarget], link: MakeLink) -> None:
        self._queue = queue
        self._senders = [_Sender(queue, target, link, message_rate()) for target in targets]
        self._running: dict[_Sender, asyncio.Task[None]] = {}
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._queue.follow(self.tell)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def tell(self, handoff: Handoff) -> None:
        """Notify the targets that were not notified yet, in the background."""
        for sender in self._senders:
            if not any(_taken(each) for each in tries(handoff, sender.name)):
                sender.add(handoff)
                if sender not in self._running or self._running[sender].done():
                    self._running[sender] = self._tasks.start(sender.run(), name=f"tell {sender.name}")


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
