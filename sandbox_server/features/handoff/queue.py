"""The queue of handoffs: opened, claimed and closed by people, by a timeout or by the requester."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Caller, Conflict, NotFound, PermissionDenied, ResourceExhausted, Tasks
from sandbox_server.core.approval import TimeoutAction
from sandbox_server.core.control import shown_to
from sandbox_server.core.receipt import HOLDING, Receipt
from sandbox_server.features.handoff.handoff import (
    PRIVATE_KINDS,
    AnsweredIn,
    AnswerHandoff,
    Approval,
    AskPerson,
    Delivery,
    FormField,
    Handoff,
    Outcome,
)
from sandbox_server.features.handoff.store import MAX_CLOSED, HandoffStore, rank_of

MAX_OPEN = 100
"""Limit of open handoffs that agents made. Approvals have a limit of their own."""
WITHOUT_APPROVAL: tuple[Outcome, ...] = ("done", "cannot", "partly", "instead")
CONFIRMED: dict[Outcome, bool] = {"done": True, "cannot": False}
"""What an outcome says about a request of the kind `confirm`."""

type Asked = Callable[[Handoff], None]
type Receipted = Callable[[str, float, float], Awaitable[Receipt | None]]
"""Returns what a person, by name, changed while having control between two times."""


class HandoffQueue:
    """All handoffs; an asynchronous context manager."""

    def __init__(
        self, store: HandoffStore, now: Callable[[], float] = time.time, *, receipted: Receipted | None = None, kept: Asked = lambda _: None
    ) -> None:
        """Make it. `receipted` returns what a person changed, or None. `kept` is called with each stored handoff."""
        self._store = store
        self._now = now
        self._handoffs: dict[str, Handoff] = {}
        self._changed = asyncio.Event()
        self._number = 0
        self._changing = asyncio.Lock()
        """Held from reading a handoff until its new version is stored, so that no change is lost."""
        self._tasks = Tasks()
        self._followers: list[Asked] = []
        self._receipted = receipted
        self._kept = kept

    async def __aenter__(self) -> Self:
        self._handoffs = {each.id: each for each in await self._store.all()}
        for each in self.listed("open"):
            self._tell(each)
        self._tasks.start(self._watch_clock(), name="deadlines of handoffs")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def follow(self, asked: Asked) -> None:
        """Call `asked` with every open handoff that everybody may see: the current ones at once, others when they are made or loaded."""
        self._followers.append(asked)
        for each in self.listed("open"):
            if each.private is None:
                asked(each)

    def _tell(self, handoff: Handoff) -> None:
        if handoff.private is not None:
            return
        for asked in self._followers:
            asked(handoff)

    def get(self, handoff: str) -> Handoff:
        """Return a handoff; raises NotFound."""
        found = self._handoffs.get(handoff)
        if found is None:
            raise NotFound(f"there is no handoff {handoff!r}", id=handoff)
        return found

    def check_shown(self, handoff: str, caller: Caller) -> None:
        """Raise NotFound unless a handoff is there for a caller."""
        found = self._handoffs.get(handoff)
        if found is None or not shown_to(found.private, caller):
            raise NotFound(f"there is no handoff {handoff!r}", id=handoff)

    def is_open(self, handoff: str) -> bool:
        """Whether the handoff exists and is open."""
        found = self._handoffs.get(handoff)
        return found is not None and found.status != "closed" and found.deadline_at > self._now()

    def listed(self, status: str) -> list[Handoff]:
        """Return those that are `open`, `closed`, or `all`, oldest first."""
        closed = {"open": (False,), "closed": (True,), "all": (False, True)}[status]
        return [each for each in self._handoffs.values() if (each.status == "closed") in closed]

    async def ask(self, request: AskPerson, caller: Caller) -> Handoff:
        """Open a handoff; raises ResourceExhausted at the limit of open ones."""
        if sum(each.approval is None for each in self.listed("open")) >= MAX_OPEN:
            raise ResourceExhausted(f"at most {MAX_OPEN} handoffs may be open")
        given = request.model_dump(exclude={"deadline", "wait"})
        return await self._made(given, asked_by=caller.name, seconds=request.deadline)

    async def ask_approval(
        self, approval: Approval, reason: str, asked_by: str, seconds: float, on_timeout: TimeoutAction, private: str | None = None
    ) -> Handoff:
        """Open a handoff of the kind `approve`, for one person alone if it is private. Its caller bounds how many there are."""
        given: dict[str, Any] = {"kind": "approve", "reason": reason, "instructions": "", "url": None, "region": None, "choices": []}
        return await self._made(
            given | {"on_timeout": on_timeout, "approval": approval, "private": private}, asked_by=asked_by, seconds=seconds
        )

    async def _made(self, given: dict[str, Any], *, asked_by: str, seconds: float) -> Handoff:
        now = self._now()
        more = {"id": f"h-{secrets.token_hex(8)}", "asked_by": asked_by, "status": "open", "created_at": now, "deadline_at": now + seconds}
        made = Handoff.model_validate(given | more)
        await self.keep(made)
        self._tell(made)
        return made

    async def claim(self, handoff: str, name: str) -> Handoff:
        """Claim one; raises Conflict if another person has."""
        async with self._changing:
            found = self._open(handoff)
            _check_claim(found, name)
            return await self._set_claimed(found, name)

    def asks_privacy(self, name: str) -> bool:
        """Whether the person has claimed a handoff of a private kind."""
        return any(each.claimed_by == name and each.kind in PRIVATE_KINDS for each in self.listed("open"))

    async def assign(self, handoff: str, caller: Caller, to: str) -> Handoff:
        """Assign one to another person; raises PermissionDenied unless the caller has claimed it or is an admin."""
        async with self._changing:
            found = self._open(handoff)
            if found.claimed_by not in (None, caller.name) and not caller.may("admin"):
                raise PermissionDenied(f"{found.claimed_by} has claimed this: only that person or an admin can reassign it")
            return await self._set_claimed(found, to)

    async def close(self, handoff: str, by: str, outcome: Outcome) -> Handoff:
        """Close one; raises Conflict if it is closed."""
        async with self._changing:
            return await self._end(self._unclosed(handoff), by, outcome=outcome)

    async def answer(self, answer: AnswerHandoff, by: str, where: AnsweredIn) -> Handoff:
        """Close one with a person's answer; the first one counts. It need not be claimed.

        Raises Conflict if it is closed or expired, if another person has claimed it, or for an unknown choice or field.
        """
        async with self._changing:
            found = self._open(answer.id)
            _check_outcome(found, answer.outcome, where)
            if where != "client":
                _check_claim(found, by)
            if answer.choice is not None and answer.choice not in found.choices:
                raise Conflict(f"{answer.choice!r} is not among the choices", choices=found.choices)
            asked = {field.name for field in found.fields if not field.secret}
            if unknown := sorted(answer.values.keys() - asked):
                raise Conflict(f"{unknown[0]!r} is not a field of this request", fields=sorted(asked))
            return await self._end(found, by, answered_in=where, confirmed=_confirmed(found, answer), **answer.model_dump(exclude={"id"}))

    async def delivered(self, handoff: str, delivery: Delivery) -> None:
        """Record a delivery."""
        async with self._changing:
            found = self.get(handoff)
            await self._change(found, deliveries=[*found.deliveries, delivery])

    def secret_field(self, handoff: str, name: str) -> FormField:
        """Return a secret field of an open handoff; raises NotFound."""
        found = next((field for field in self._open(handoff).fields if field.secret and field.name == name), None)
        if found is None:
            raise NotFound(f"there is no secret field {name!r}", name=name)
        return found

    async def dropped(self, handoff: str, name: str) -> Handoff:
        """Record that a secret field was filled in."""
        async with self._changing:
            found = self._open(handoff)
            return await self._change(found, dropped=[*(each for each in found.dropped if each != name), name])

    async def _end(self, found: Handoff, by: str, **how: Any) -> Handoff:
        return await self._change(found, status="closed", closed_by=by, closed_at=self._now(), **how)

    async def closed(self, handoff: str, seconds: float) -> Handoff:
        """Wait until one is closed, at most `seconds`, and return it."""
        try:
            async with asyncio.timeout(seconds):
                while self.get(handoff).status != "closed":
                    await self._changed.wait()
        except TimeoutError:
            pass
        return self.get(handoff)

    async def with_receipt(self, found: Handoff) -> Handoff:
        """Return it with the receipt, once a person has closed it."""
        if self._receipted is None or found.status != "closed" or found.receipt or found.outcome in (None, "timeout", "cancelled"):
            return found
        receipt = await self._receipted(found.closed_by or "", found.created_at, found.closed_at or self._now())
        if receipt is None or receipt.ended == HOLDING:
            return found.model_copy(update={"receipt": receipt})
        async with self._changing:
            return await self._change(self.get(found.id), receipt=receipt)

    async def news(self) -> AsyncIterator[list[Handoff]]:
        """Yield the open handoffs, now and after every change."""
        while True:
            number = self._number
            yield self.listed("open")
            if number == self._number:
                await self._changed.wait()

    async def keep(self, handoff: Handoff) -> None:
        """Store one and wake all waiters."""
        await self._store.put(handoff)
        self._handoffs[handoff.id] = handoff
        for old in sorted(self.listed("closed"), key=rank_of)[:-MAX_CLOSED]:
            del self._handoffs[old.id]
        self._kept(handoff)
        self._number += 1
        self._changed.set()
        self._changed.clear()

    def _open(self, handoff: str) -> Handoff:
        """Return one that people may still act on, which the clock may be about to close; raises Conflict."""
        found = self._unclosed(handoff)
        if found.deadline_at <= self._now():
            raise Conflict("this request is closed: timeout", outcome="timeout")
        return found

    def _unclosed(self, handoff: str) -> Handoff:
        found = self.get(handoff)
        if found.status == "closed":
            raise Conflict(f"this request is closed: {found.outcome}", outcome=found.outcome, closed_by=found.closed_by)
        return found

    async def _set_claimed(self, found: Handoff, name: str) -> Handoff:
        at = found.claimed_at if found.claimed_by == name else self._now()
        return await self._change(found, status="claimed", claimed_by=name, claimed_at=at)

    async def _change(self, found: Handoff, **values: Any) -> Handoff:
        changed = found.model_copy(update=values)
        await self.keep(changed)
        return changed

    async def _watch_clock(self) -> None:
        while True:
            due = min((each.deadline_at for each in self.listed("open")), default=None)
            try:
                async with asyncio.timeout(None if due is None else max(0.0, due - self._now())):
                    await self._changed.wait()
            except TimeoutError:
                for each in self.listed("open"):
                    if each.deadline_at <= self._now():
                        await self.close(each.id, "clock", "timeout")


def _check_claim(found: Handoff, name: str) -> None:
    """Raise Conflict if another person has claimed the handoff."""
    if found.claimed_by not in (None, name):
        raise Conflict(f"{found.claimed_by} has claimed this already", claimed_by=found.claimed_by)


def _check_outcome(found: Handoff, outcome: Outcome, where: AnsweredIn) -> None:
    """Raise PermissionDenied if an approval is answered elsewhere than on `/view`, and Conflict for an outcome that does not fit."""
    if found.approval and where != "view":
        raise PermissionDenied("only a person with a signed-in browser can answer this")
    outcomes = found.approval.answers if found.approval else WITHOUT_APPROVAL
    if outcome not in outcomes:
        raise Conflict(f"{outcome!r} does not answer a request of the kind {found.kind}", outcomes=list(outcomes))


def _confirmed(found: Handoff, answer: AnswerHandoff) -> bool | None:
    """Whether the answer is a yes; None where no yes or no was asked for, or neither was said."""
    return CONFIRMED.get(answer.outcome) if found.kind == "confirm" and not found.choices else None
