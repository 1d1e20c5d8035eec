"""Sign-in links for handoffs. Each works once. Its sessions end with the handoff."""

import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Tasks
from sandbox_server.core.quota import owner_of
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.names import bearer_of, invited_by
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.features.handoff.handoff import Handoff

SCOPES = frozenset({"view", "control"})

type Expel = Callable[[str], Coroutine[Any, Any, None]]
"""Ends all connections, and the control, of callers whose names have this prefix."""


class HandoffLinks:
    """Makes links at the sandbox's public URL `base` (None: there is none); an asynchronous context manager."""

    def __init__(self, tickets: Tickets, base: str | None, expel: Expel) -> None:
        self._tickets = tickets
        self._base = base
        self._expel = expel
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def make(self, handoff: Handoff) -> str | None:
        """Make a link that works once, with the scopes to see and to control, valid until the deadline at most.

        The links of one asker's requests count together. They make room for whoever has fewer tickets. Raises ResourceExhausted.
        """
        if self._base is None:
            return None
        grant = Grant(bearer_of(invited_by(handoff.id)), SCOPES, expires=handoff.deadline_at, handoff=handoff.id)
        maker = f"for {owner_of(handoff.asked_by, person=False)}"
        ticket = self._tickets.create(grant, max(1.0, handoff.deadline_at - time.time()), maker=maker, person=True)
        return f"{self._base.rstrip('/')}/view?ticket={ticket}"

    def kept(self, handoff: Handoff) -> None:
        """Take a stored handoff. When it is closed, the sessions of its links end."""
        if self._base is not None and handoff.status == "closed":
            self._tasks.start(self._expel(invited_by(handoff.id)), name=f"end the links of {handoff.id}")
