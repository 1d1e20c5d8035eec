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
    asker: "_Asker"
    answered: asyncio.Future[bool]
    event: dict[str, object] = field(default_factory=dict)
    """What the event of the question says."""


type _Subject = tuple[Destination, str, object] | int
"""A place with a rule and who is private, or the number of the question about a request."""
type _Asker = tuple[int | None, object]
"""Whose connection it is, and who is private."""
type _Told = tuple[Destination, str, Mapping[str, object]]
"""A place, the rule that asks, and what the event says of the connection."""


class Approvals:
    """The open questions: one for each place, rule and private person, and one for each request that a rule asks about.

    What a person in private mode answers about connections holds for the desktop until that time ends, and nobody else's gets it.
    """

    def __init__(self, events: FlowEvents, seconds: float = SECONDS) -> None:
        self._events = events
        self._seconds = seconds
        self._open: dict[_Subject, _Question] = {}
        self._answered: dict[_Subject, bool] = {}
        """What was answered in the private time of now."""
        self._identities = itertools.count(1)
        self._reading = Counter[_Asker]()
        """Requests whose bodies are read before their questions: each body may be large."""

    async def ask(
        self, destination: Destination, rule: str, told: Mapping[str, object] | None = None, request: AskedRequest | None = None
    ) -> bool:
        """Wait until somebody answers; False if nobody does in time, or too many questions are open. Raises InjectionRefused.

        `told` is what the event says besides of the connection that asks first. `request` is the one that the rule compared.
        """
        marked = self._events.marked(told or {})
        asker = destination.uid, marked.get("private")
        subject = destination, rule, asker[1]
        if request:
            return not self._full(asker) and await self._ask_about(request, asker, (destination, rule, marked))
        if subject in self._answered:
            return self._answered[subject]
        question = self._open.get(subject)
        if question is None:
            if self._full(asker):
                return False
            question = self._begin(subject, asker, (destination, rule, marked))
        return await asyncio.shield(question.answered)

    async def _ask_about(self, request: AskedRequest, asker: _Asker, told: _Told) -> bool:
        """Ask about one request. Its question is withdrawn with who waits."""
        self._reading[asker] += 1
        try:
            described = await request.describe()
        finally:
            self._reading[asker] -= 1
        return await self._begin(None, asker, told, described).answered

    def _full(self, asker: _Asker) -> bool:
        """Whether too many questions are open of a user, or of all. A person's private time has places of its own."""
        alike = [each.asker[0] for each in self._open.values() if each.asker[1] == asker[1]]
        alike += [each for (each, private), count in self._reading.items() if private == asker[1] for _ in range(count)]
        return len(alike) >= MAX_OPEN or alike.count(asker[0]) >= MAX_OPEN_OF_ONE

    def wait(self, seconds: float) -> None:
        """Say how long the next questions wait for an answer. Raises ValueError."""
        if not 1.0 <= seconds <= MAX_SECONDS:
            raise ValueError(f"an answer may take 1 to {MAX_SECONDS:g} seconds")
        self._seconds = seconds

    def answer(self, identity: object, *, allowed: bool) -> bool:
        """Answer a question; False if it is not open any more."""
        for subject, question in self._open.items():
            if question.identity == identity and not question.answered.done():
                private = question.asker[1]
                if private is not None and private == self._events.private.person and subject != identity:
                    self._answered[subject] = allowed
                question.answered.set_result(allowed)
                return True
        return False

    def forget_private(self) -> None:
        """Forget what was answered in private time, because that has begun or ended."""
        self._answered.clear()

    @property
    def open(self) -> list[dict[str, object]]:
        """The events of the questions that are open, for those who begin to follow."""
        return [{"event": "ask", **question.event} for question in self._open.values()]

    def _begin(self, subject: _Subject | None, asker: _Asker, told: _Told, request: Mapping[str, object] | None = None) -> _Question:
        loop = asyncio.get_running_loop()
        identity = next(self._identities)
        destination, rule, marked = told
        question = _Question(identity, subject or identity, asker, loop.create_future())
        self._open[question.subject] = question
        until = round(time.time() + self._seconds, 3)
        asked = {"by_request": request is not None, **(request or {})}
        question.event.update({"destination": str(destination), **marked, **asked, "ask": identity, "rule": rule, "until": until})
        expiry = loop.call_later(self._seconds, _answer_late, question)
        question.answered.add_done_callback(lambda _: self._close(question, expiry))
        self._events.publish("ask", **question.event)
        return question

    def _close(self, question: _Question, expiry: asyncio.TimerHandle) -> None:
        expiry.cancel()
        del self._open[question.subject]
        allowed = not question.answered.cancelled() and question.answered.result()
        whose = {} if question.asker[1] is None else {"private": question.asker[1]}
        self._events.publish("answered", ask=question.identity, allowed=allowed, **whose)


def _answer_late(question: _Question) -> None:
    """Answer no, because nobody did."""
    if not question.answered.done():
        question.answered.set_result(False)
