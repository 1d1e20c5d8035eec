"""Questions about connections whose rule is `ask`: one for all connections to the same place, open for a bounded time."""

import asyncio
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox_server.drivers.egress.policy import Destination, HttpRequest
from sandbox_server.egress.flow_events import FlowEvents

SECONDS = 30.0
MAX_SECONDS = 3600.0
MAX_OPEN = 64
"""Questions that may be open at once. More are refused."""


@dataclass(frozen=True, slots=True)
class _Question:
    identity: int
    answered: asyncio.Future[bool]
    event: dict[str, object] = field(default_factory=dict)
    """What the event of the question says."""


type _Subject = tuple[Destination, str, HttpRequest | None]


class Approvals:
    """The open questions, by what they are about: a place, a rule, and a request if the rule compares those."""

    def __init__(self, events: FlowEvents, seconds: float = SECONDS) -> None:
        self._events = events
        self._seconds = seconds
        self._open: dict[_Subject, _Question] = {}
        self._identities = itertools.count(1)

    async def ask(
        self, destination: Destination, rule: str, request: HttpRequest | None = None, told: Mapping[str, object] | None = None
    ) -> bool:
        """Wait until somebody answers; False if nobody does in time, or too many questions are open.

        `told` is what the event says besides of the connection that asks first.
        """
        question = self._open.get((destination, rule, request))
        if question is None:
            if len(self._open) >= MAX_OPEN:
                return False
            question = self._begin((destination, rule, request), told or {})
        return await asyncio.shield(question.answered)

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

    def _begin(self, subject: _Subject, told: Mapping[str, object]) -> _Question:
        loop = asyncio.get_running_loop()
        question = _Question(next(self._identities), loop.create_future())
        self._open[subject] = question
        destination, rule, request = subject
        by_request = {"by_request": request is not None, "request": str(request) if request else told.get("request", "")}
        until = round(time.time() + self._seconds, 3)
        question.event.update(
            {"destination": str(destination), **told, **by_request, "ask": question.identity, "rule": rule, "until": until}
        )
        expiry = loop.call_later(self._seconds, _answer_late, question)
        question.answered.add_done_callback(lambda _: self._close(subject, expiry))
        self._events.publish("ask", **question.event)
        return question

    def _close(self, subject: _Subject, expiry: asyncio.TimerHandle) -> None:
        expiry.cancel()
        question = self._open.pop(subject)
        if not question.answered.cancelled():
            self._events.publish("answered", ask=question.identity, allowed=question.answered.result())


def _answer_late(question: _Question) -> None:
    """Answer no, because nobody did."""
    if not question.answered.done():
        question.answered.set_result(False)
