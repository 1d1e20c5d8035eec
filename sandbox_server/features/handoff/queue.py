"""Queue of handoffs: asked, claimed, closed; by people, by the clock or by who asked."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Literal, Self

from sandbox_server.core import Caller, Conflict, NotFound, PermissionDenied, ResourceExhausted, Tasks
from sandbox_server.core.receipt import HOLDING, Receipt
from sandbox_server.features.handoff.handoff import PRIVATE_KINDS, AnswerHandoff, AskPerson, Delivery, FormField, Handoff, Outcome
from sandbox_server.features.handoff.store import HandoffStore

MAX_OPEN = 100

type Asked = Callable[[Handoff], None]
type Receipted = Callable[[str, float, float], Awaitable[Receipt | None]]
"""Gives what a person changed, by name, who had control between two moments."""


class HandoffQueue:
    """Every handoff; an asynchronous context manager."""

    def __init__(
        self, store: HandoffStore, now: Callable[[], float] = time.time, *, receipted: Receipted | None = None, kept: Asked = lambda _: None
    ) -> None:
        """`receipted` gives what a person changed, None where nothing tells; `kept` is called with each handoff as it is kept."""
        self._store = store
        self._now = now
        self._handoffs: dict[str, Handoff] = {}
        self._changed = asyncio.Event()
        self._number = 0
        self._changing = asyncio.Lock()
        """Held from reading one until its successor is kept, so that of two changes none is lost."""
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
        """Call `asked` with every handoff that is open: with those of now at once, with the others when they are made or read."""
        self._followers.append(asked)
        for each in self.listed("open"):
            asked(each)

    def _tell(self, handoff: Handoff) -> None:
        for asked in self._followers:
            asked(handoff)

    def get(self, handoff: str) -> Handoff:
        """One of them; raises NotFound."""
        found = self._handoffs.get(handoff)
        if found is None:
            raise NotFound(f"there is no handoff {handoff!r}", id=handoff)
        return found

    def is_open(self, handoff: str) -> bool:
        """Whether there is such a one that has not ended."""
        found = self._handoffs.get(handoff)
        return found is not None and found.status != "closed" and found.deadline_at > self._now()

    def listed(self, status: str) -> list[Handoff]:
        """Those that are `open`, `closed`, or `all`, the oldest first."""
        closed = {"open": (False,), "closed": (True,), "all": (False, True)}[status]
        return [each for each in self._handoffs.values() if (each.status == "closed") in closed]

    async def ask(self, request: AskPerson, caller: Caller) -> Handoff:
        """Ask something; raises ResourceExhausted when too much is open."""
        if len(self.listed("open")) >= MAX_OPEN:
            raise ResourceExhausted(f"{MAX_OPEN} handoffs are open already")
        now = self._now()
        given = request.model_dump(exclude={"deadline", "wait"})
        times = {"created_at": now, "deadline_at": now + request.deadline}
        made = Handoff.model_validate(given | times | {"id": f"h-{secrets.token_hex(8)}", "asked_by": caller.name, "status": "open"})
        await self.keep(made)
        self._tell(made)
        return made

    async def claim(self, handoff: str, name: str) -> Handoff:
        """Take one on; raises Conflict if somebody else has."""
        async with self._changing:
            found = self._open(handoff)
            if found.claimed_by not in (None, name):
                raise Conflict(f"{found.claimed_by} does this already", claimed_by=found.claimed_by)
            return await self._claimed(found, name)

    def asks_privacy(self, name: str) -> bool:
        """Whether somebody does what is asked where secrets are typed."""
        return any(each.claimed_by == name and each.kind in PRIVATE_KINDS for each in self.listed("open"))

    async def assign(self, handoff: str, caller: Caller, to: str) -> Handoff:
        """Give one to somebody else; raises PermissionDenied for who has not claimed it and is no admin."""
        async with self._changing:
            found = self._open(handoff)
            if found.claimed_by not in (None, caller.name) and not caller.may("admin"):
                raise PermissionDenied(f"{found.claimed_by} does this: only that person passes it on, or an admin")
            return await self._claimed(found, to)

    async def close(self, handoff: str, by: str, outcome: Outcome) -> Handoff:
        """End one; raises Conflict if it has ended."""
        async with self._changing:
            return await self._end(self._open(handoff), by, outcome=outcome)

    async def answer(self, answer: AnswerHandoff, by: str, where: Literal["view", "client"]) -> Handoff:
        """End one as a person says; raises Conflict if it has ended, or for a choice or a field that was not offered."""
        async with self._changing:
            found = self._open(answer.id)
            if answer.choice is not None and answer.choice not in found.choices:
                raise Conflict(f"{answer.choice!r} is not among the choices", choices=found.choices)
            asked = {field.name for field in found.fields if not field.secret}
            if unknown := sorted(answer.values.keys() - asked):
                raise Conflict(f"{unknown[0]!r} is not among the fields that come back", fields=sorted(asked))
            return await self._end(found, by, answered_in=where, **answer.model_dump(exclude={"id"}))

    async def delivered(self, handoff: str, delivery: Delivery) -> None:
        """Note how somebody was told of one."""
        async with self._changing:
            found = self.get(handoff)
            await self._change(found, deliveries=[*found.deliveries, delivery])

    def secret_field(self, handoff: str, name: str) -> FormField:
        """A secret field of an open one; raises NotFound."""
        found = next((field for field in self._open(handoff).fields if field.secret and field.name == name), None)
        if found is None:
            raise NotFound(f"there is no secret field {name!r}", name=name)
        return found

    async def dropped(self, handoff: str, name: str) -> Handoff:
        """Note that a secret field was filled in."""
        async with self._changing:
            found = self._open(handoff)
            return await self._change(found, dropped=[*(each for each in found.dropped if each != name), name])

    async def _end(self, found: Handoff, by: str, **how: Any) -> Handoff:
        return await self._change(found, status="closed", closed_by=by, closed_at=self._now(), **how)

    async def closed(self, handoff: str, seconds: float) -> Handoff:
        """Wait until one has ended, or so long; how it is then."""
        try:
            async with asyncio.timeout(seconds):
                while self.get(handoff).status != "closed":
                    await self._changed.wait()
        except TimeoutError:
            pass
        return self.get(handoff)

    async def with_receipt(self, found: Handoff) -> Handoff:
        """The same with what the person changed, once it has ended by one."""
        if self._receipted is None or found.status != "closed" or found.receipt or found.outcome in (None, "timeout", "cancelled"):
            return found
        receipt = await self._receipted(found.closed_by or "", found.created_at, found.closed_at or self._now())
        if receipt is None or receipt.ended == HOLDING:
            return found.model_copy(update={"receipt": receipt})
        async with self._changing:
            return await self._change(self.get(found.id), receipt=receipt)

    async def news(self) -> AsyncIterator[list[Handoff]]:
        """What is open, now and after every change."""
        while True:
            number = self._number
            yield self.listed("open")
            if number == self._number:
                await self._changed.wait()

    async def keep(self, handoff: Handoff) -> None:
        """Write one down, and tell everybody who waits."""
        await self._store.put(handoff)
        self._handoffs[handoff.id] = handoff
        self._kept(handoff)
        self._number += 1
        self._changed.set()
        self._changed.clear()

    def _open(self, handoff: str) -> Handoff:
        found = self.get(handoff)
        if found.status == "closed":
            raise Conflict(f"this has ended: {found.outcome}", outcome=found.outcome)
        return found

    async def _claimed(self, found: Handoff, name: str) -> Handoff:
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
