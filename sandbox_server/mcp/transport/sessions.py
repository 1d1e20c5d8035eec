"""MCP sessions: a quota for each credential, and eviction of its least recently used session."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.quota import Quota, Reservation, owner_of

MAX_SESSIONS = 1000
PROGRAM_SESSIONS = 900
SESSIONS_OF_ONE = 600
IDLE_SECONDS = 1800.0
"""A session without a request for this long has expired."""


@dataclass(slots=True)
class _TrackedSession:
    reservation: Reservation
    used_at: float
    requests: int = 0


class McpSessions:
    """The open sessions and their owners. `end` closes a session by its id, in the name of its caller."""

    def __init__(self, end: Callable[[str, str], Awaitable[None]]) -> None:
        self._quota = Quota("MCP sessions", MAX_SESSIONS, programs=PROGRAM_SESSIONS, each=SESSIONS_OF_ONE)
        self._end = end
        self._known: dict[str, tuple[str, _TrackedSession]] = {}
        """By id, the least recently used first."""

    async def admit(self, name: str, *, person: bool) -> Reservation:
        """Reserve one more session for a caller; evicts its least recently used one if needed. Raises ResourceExhausted."""
        self._expire_idle()
        try:
            return self._quota.take(name, person=person)
        except ResourceExhausted:
            evicted = self._least_recently_used(owner_of(name, person=person), person=person)
            if evicted is None:
                raise
            caller, _ = self._known[evicted]
            self.forget(evicted)
            await self._end(evicted, caller)
            return self._quota.take(name, person=person)

    def note(self, session: str, name: str, reservation: Reservation) -> None:
        """Record an opened session with its reservation."""
        self._known[session] = name, _TrackedSession(reservation, _now())

    def forget(self, session: str) -> None:
        """Record that a session has ended; an unknown one already has."""
        if session in self._known:
            self._known.pop(session)[1].reservation.close()

    @contextmanager
    def using(self, session: str) -> Iterator[None]:
        """Protect a session from eviction while one of its requests runs."""
        found = self._known.get(session)
        if found:
            found[1].requests += 1
        try:
            yield
        finally:
            if found:
                found[1].requests -= 1
                found[1].used_at = _now()
                if self._known.pop(session, None):
                    self._known[session] = found

    def _expire_idle(self) -> None:
        expired = [name for name, (_, each) in self._known.items() if not each.requests and each.used_at + IDLE_SECONDS < _now()]
        for session in expired:
            self.forget(session)

    def _least_recently_used(self, owner: str, *, person: bool) -> str | None:
        own = (
            session
            for session, (_, each) in self._known.items()
            if not each.requests and (each.reservation.owner, each.reservation.person) == (owner, person)
        )
        return next(own, None)


def _now() -> float:
    return asyncio.get_running_loop().time()
