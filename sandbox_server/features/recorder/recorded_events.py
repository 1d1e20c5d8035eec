"""What is written down beside calls: who drives, what is asked of people, and how much a person types and clicks, never what."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core import Caller, Tasks
from sandbox_server.core.control import Holding
from sandbox_server.drivers.recorder.journal import ActorType, Journal
from sandbox_server.drivers.recorder.redaction import Redaction

GATHER_SECONDS = 2.0
"""How long input is counted before it is written down as one entry."""
CLOCK = "clock"
RECEIPT = "receipt"


class LeaseEvent(Protocol):
    """A change of the lease."""

    @property
    def kind(self) -> str: ...
    @property
    def by(self) -> str: ...
    @property
    def person(self) -> bool: ...
    @property
    def holding(self) -> Holding: ...
    @property
    def note(self) -> str: ...


class LeaseEvents(Protocol):
    """What tells of such changes."""

    def news(self, after: str | None) -> AsyncIterator[LeaseEvent]: ...


class InputEntries:
    """Counts what people put in: `note` is called for each key, click and the like."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: dict[tuple[str, bool], Counter[str]] = {}
        self._due: asyncio.TimerHandle | None = None

    def note(self, caller: Caller, what: str, count: int) -> None:
        """Count some of what a caller put in; nothing while that is private."""
        if count <= 0 or (caller.person and self._journal.private()):
            return
        self._counts.setdefault((caller.name, caller.person), Counter())[what] += count
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(GATHER_SECONDS, self.write)

    def write(self) -> None:
        """Write down what was counted."""
        if self._due:
            self._due.cancel()
            self._due = None
        counted, self._counts = self._counts, {}
        for (name, person), counts in counted.items():
            self._journal.record("input", "person" if person else "agent", name, counts=dict(counts))


class LineEntries:
    """Writes down the lines that people enter in shells; in private, nothing."""

    def __init__(self, journal: Journal, redaction: Redaction) -> None:
        self._journal = journal
        self._redaction = redaction

    def entered(self, caller: Caller, session: str, line: str) -> None:
        """Take a line that was entered at the prompt of a session."""
        if not (caller.person and self._journal.private()):
            actor: ActorType = "person" if caller.person else "agent"
            self._journal.record("command", actor, caller.name, session=session, command=self._redaction.text(line))


class LeaseEntries:
    """Writes down who drives, as it changes; an asynchronous context manager. Input comes before the change that ended it."""

    def __init__(self, journal: Journal, lease: LeaseEvents, inputs: InputEntries, redaction: Redaction) -> None:
        self._journal = journal
        self._lease = lease
        self._inputs = inputs
        self._redaction = redaction
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._follow(), name="who drives, for the recorder")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        self._inputs.write()

    async def _follow(self) -> None:
        async for change in self._lease.news(None):
            self._inputs.write()
            if change.kind == RECEIPT:  # it has an entry of its own
                continue
            holding = change.holding
            actor = _actor(change.by, person=change.person)
            more: dict[str, Any] = {
                "state": holding.state,
                "holder": holding.holder,
                "scope": sorted(holding.reach),
                "epoch": holding.epoch,
                "private": holding.private,
                **({"note": self._redaction.text(change.note)} if change.note else {}),
            }
            self._journal.record("control", *actor, event=change.kind, **more)


class ApprovalState(Protocol):
    """What an approval is about."""

    @property
    def subject(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def details(self) -> Mapping[str, str]: ...


class HandoffState(Protocol):
    """What is asked of a person."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def asked_by(self) -> str: ...
    @property
    def claimed_by(self) -> str | None: ...
    @property
    def closed_by(self) -> str | None: ...
    @property
    def outcome(self) -> str | None: ...
    @property
    def note(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def choice(self) -> str | None: ...
    @property
    def approval(self) -> ApprovalState | None: ...


class HandoffEntries:
    """Writes down what becomes of handoffs: `kept` is called with each as it is kept.

    What was asked and which of the choices was taken are kept without secrets. Of what a person fills in or notes, the length is, at most.
    """

    def __init__(self, journal: Journal, redaction: Redaction) -> None:
        self._journal = journal
        self._redaction = redaction
        self._known: dict[str, tuple[str, str | None]] = {}

    def kept(self, handoff: HandoffState) -> None:
        """Write down what is new of it."""
        state = (handoff.status, handoff.claimed_by)
        if self._known.get(handoff.id) == state:
            return
        self._known[handoff.id] = state
        more: dict[str, Any] = {"reason": self._redaction.text(handoff.reason)}
        if handoff.status == "closed":
            more |= {"outcome": handoff.outcome, "note_length": len(handoff.note)}
        if handoff.choice is not None:
            more["choice"] = self._redaction.text(handoff.choice)
        if handoff.approval:
            more |= self._approval(handoff.approval)
        self._journal.record("handoff", *_who(handoff), event=handoff.status, id=handoff.id, asks=handoff.kind, **more)

    def _approval(self, approval: ApprovalState) -> dict[str, Any]:
        details = {name: self._redaction.text(text) for name, text in approval.details.items()}
        return {"subject": approval.subject, "rule": approval.rule, "details": details}


def _who(handoff: HandoffState) -> tuple[ActorType, str]:
    if handoff.status == "closed":
        by = handoff.closed_by or CLOCK
        return _actor(by, person=handoff.outcome != "cancelled" or by != handoff.asked_by)
    if handoff.status == "claimed":
        return "person", handoff.claimed_by or ""
    return "agent", handoff.asked_by


def _actor(name: str, *, person: bool) -> tuple[ActorType, str]:
    if not name or name == CLOCK:
        return "system", name or "recorder"
    return ("person" if person else "agent"), name
