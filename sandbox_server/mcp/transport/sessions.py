"""Sessions of MCP's clients: each credential has a share of them, and its longest unused one makes room for its next."""

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
"""After so long without a request a session is over."""


@dataclass(slots=True)
class _TrackedSession:
    place: Reservation
    used_at: float
    requests: int = 0


class McpSessions:
    """Who has which session. `end` ends one by its id, in the name of the caller that it belongs to."""

    def __init__(self, end: Callable[[str, str], Awaitable[None]]) -> None:
        self._quota = Quota("MCP sessions", MAX_SESSIONS, programs=PROGRAM_SESSIONS, each=SESSIONS_OF_ONE)
        self._end = end
        self._known: dict[str, tuple[str, _TrackedSession]] = {}
        """By their ids, the longest unused first."""

    async def admit(self, name: str, *, person: bool) -> Reservation:
        """A place for one more session of a caller, at the cost of the one that it has not used for longest. Raises ResourceExhausted."""
        self._forget_idle()
        try:
            return self._quota.take(name, person=person)
        except ResourceExhausted:
            unused = self._longest_unused(owner_of(name, person=person), person=person)
            if unused is None:
                raise
            caller, _ = self._known[unused]
            self.forget(unused)
            await self._end(unused, caller)
            return self._quota.take(name, person=person)

    def note(self, session: str, name: str, place: Reservation) -> None:
        """Note that a session was opened in a place."""
        self._known[session] = name, _TrackedSession(place, _now())

    def forget(self, session: str) -> None:
        """Note that a session is over; one that is not known is over already."""
        if session in self._known:
            self._known.pop(session)[1].place.close()

    @contextmanager
    def using(self, session: str) -> Iterator[None]:
        """Keep a session while a request of it is answered."""
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

    def _forget_idle(self) -> None:
        over = [name for name, (_, each) in self._known.items() if not each.requests and each.used_at + IDLE_SECONDS < _now()]
        for session in over:
            self.forget(session)

    def _longest_unused(self, owner: str, *, person: bool) -> str | None:
        own = (
            session
            for session, (_, each) in self._known.items()
            if not each.requests and (each.place.owner, each.place.person) == (owner, person)
        )
        return next(own, None)


def _now() -> float:
    return asyncio.get_running_loop().time()
