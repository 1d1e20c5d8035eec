"""Questions about connections and requests whose rule is `ask`, open for a bounded time.

Connections of one user to the same place are one question. Each request is a question of its own, whose answer is for it alone.
"""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from sandbox_server.drivers.egress.body_summary import body_summary
from sandbox_server.drivers.egress.policy import Destination, HttpRequest
from sandbox_server.egress.flow_events import FlowEvents

SECONDS = 30.0
MAX_SECONDS = 3600.0
MAX_OPEN = 64
"""Questions that may be open at once. More are refused."""
MAX_OPEN_OF_ONE = 40
"""The same of one user's connections, so that no program's questions leave the desktop's without a place."""

type ReadBody = Callable[[], Awaitable[bytes]]
"""Reads the whole body of a request, within a bound. Raises InjectionRefused."""


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """A request that somebody is asked about, whole."""

    request: HttpRequest
    read_body: ReadBody

    async def describe(self) -> dict[str, object]:
        """Return what the event of its question says: the whole target, and the body by `body_summary`. Raises InjectionRefused."""
        asked = self.request
        body = body_summary(await self.read_body()) if asked.has_body else None
        return {"method": asked.method, "target": asked.path, "site": asked.host, "websocket": asked.websocket, "body": body}


@dataclass(frozen=True, slots=True)
class _Question:
    identity: int
    subject: "_Subject"
    uid: int | None
    answered: asyncio.Future[bool]
    event: dict[str, object] = field(default_factory=dict)
    """What the event of the question says."""


type _Subject = tuple[Destination, str] | int


class Approvals:
    """The open questions: one for each place and rule, and one for each request that a rule asks about."""

    def __init__(self, events: FlowEvents, seconds: float = SECONDS) -> None:
        self._events = events
        self._seconds = seconds
        self._open: dict[_Subject, _Question] = {}
        self._identities = itertools.count(1)
        self._reading = Counter[int | None]()
        """Requests whose bodies are read before their questions, by user: each body may be large."""

    async def ask(
        self, destination: Destination, rule: str, told: Mapping[str, object] | None = None, request: AskedRequest | None = None
    ) -> bool:
        """Wait until somebody answers; False if nobody does in time, or too many questions are open. Raises InjectionRefused.

        `told` is what the event says besides of the connection that asks first. `request` is the one that the rule compared.
        """
        uid = destination.uid
        question = None if request else self._open.get((destination, rule))
        if question is None and (len(self._open) + self._reading.total() >= MAX_OPEN or self._open_of(uid) >= MAX_OPEN_OF_ONE):
            return False
        if request:
            self._reading[uid] += 1
            try:
                described = await request.describe()
            finally:
                self._reading[uid] -= 1
            return await self._begin(destination, rule, told or {}, described).answered
        question = question or self._begin(destination, rule, told or {}, None)
        return await asyncio.shield(question.answered)

    def _open_of(self, uid: int | None) -> int:
        return self._reading[uid] + sum(question.uid == uid for question in self._open.values())

    def wait(self, seconds: float) -> None:
        """Say how long the next questions wait for an answer. Raises ValueError."""
        if not 1.0 <= seconds <= MAX_SECONDS:
            raise ValueError(f"an answer may take 1 to {MAX_SECONDS:g} seconds")
        self._seconds = seconds

    def answer(self, identity: object, *, allowed: bool) -> bool:
        """Answer a question; False if it is not open any more."""
        for question in self._open.values():
            if question.identity == identity and not question.answered.done():
                question.answered.set_result(allowed)
                return True
        return False

    @property
    def open(self) -> list[dict[str, object]]:
        """The events of the questions that are open, for those who begin to follow."""
        return [{"event": "ask", **question.event} for question in self._open.values()]

    def _begin(self, destination: Destination, rule: str, told: Mapping[str, object], request: Mapping[str, object] | None) -> _Question:
        loop = asyncio.get_running_loop()
        identity = next(self._identities)
        question = _Question(identity, identity if request else (destination, rule), destination.uid, loop.create_future())
        self._open[question.subject] = question
        until = round(time.time() + self._seconds, 3)
        asked = {"by_request": request is not None, **(request or {})}
        question.event.update({"destination": str(destination), **told, **asked, "ask": identity, "rule": rule, "until": until})
        expiry = loop.call_later(self._seconds, _answer_late, question)
        question.answered.add_done_callback(lambda _: self._close(question, expiry))
        self._events.publish("ask", **question.event)
        return question

    def _close(self, question: _Question, expiry: asyncio.TimerHandle) -> None:
        expiry.cancel()
        del self._open[question.subject]
        allowed = not question.answered.cancelled() and question.answered.result()
        self._events.publish("answered", ask=question.identity, allowed=allowed)


def _answer_late(question: _Question) -> None:
    """Answer no, because nobody did."""
    if not question.answered.done():
        question.answered.set_result(False)
