"""A table of sessions by id, for shells, bash, kernels and Node.js: valid ids, limits, and eviction."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Protocol

from sandbox_server.core.errors import InvalidArgument, NotFound, ResourceExhausted

MAX_ID = 128
"""Limit of characters of an id."""
RETRY_AFTER = 5.0
"""Seconds after which a caller should try again."""


class LastUse:
    """When a session was used last. How long ago that is, is counted by a clock that nobody sets."""

    def __init__(self, at: float | None = None) -> None:
        self.touch()
        if at is not None:
            self.at = at

    def touch(self) -> None:
        """It is used now."""
        self.at = time.time()
        """Seconds since the epoch, by the machine's clock."""
        self._counted = time.monotonic()

    @property
    def seconds_ago(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self._counted


class Session(Protocol):
    """A session in a table."""

    @property
    def id(self) -> str:
        """Its id."""


def require_valid_id(session_id: str, field: Literal["id", "session_id"] = "session_id") -> None:
    """Raise InvalidArgument, which names `field`, for an invalid id."""
    if len(session_id) > MAX_ID or not session_id.isprintable() or "/" in session_id:
        details: dict[str, Any] = {field: session_id[:MAX_ID]}
        raise InvalidArgument(f"a session id has at most {MAX_ID} printable characters and no slash", **details)


def _nobody[S](_: Sequence[S]) -> S | None:
    return None


def _accept_all(_: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SessionLimit[S: Session]:
    """A limit on the number of sessions for which `counts` is true."""

    most: int
    message: str
    """The error message at the limit."""
    hint: str
    """What the caller can do then."""
    evicted: Callable[[Sequence[S]], S | None] = _nobody
    """Chooses the session to evict at the limit; None if all stay."""
    counts: Callable[[S], bool] = _accept_all

    def exhausted(self, retry_after: float = RETRY_AFTER) -> ResourceExhausted:
        """Return the failure for the limit."""
        return ResourceExhausted(self.message, retry_after=retry_after, hint=self.hint)


class SessionTable[S: Session]:
    """The sessions of one kind. Each is under the first of `limits` that it counts for. Its owner ends a session."""

    def __init__(self, *limits: SessionLimit[S]) -> None:
        self.limits = limits
        self._sessions: dict[str, S] = {}
        self.by_id: Mapping[str, S] = MappingProxyType(self._sessions)

    def __iter__(self) -> Iterator[S]:
        """Iterate over the current sessions, oldest first."""
        return iter(list(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def get(self, session_id: str) -> S:
        """Return the session of an id; raises NotFound with the contract's message."""
        if session_id not in self._sessions:
            raise NotFound("Session not found", session_id=session_id)
        return self._sessions[session_id]

    def find(self, session_id: str) -> S | None:
        """Return the session of an id; None if there is none."""
        return self._sessions.get(session_id)

    def limit(self, session: S) -> SessionLimit[S]:
        """Return the limit that a session is under."""
        return next(limit for limit in self.limits if limit.counts(session))

    def evicted_for(self, session: S) -> S | None:
        """Return the session to evict before `session` can be added; None if there is room.

        Raises ResourceExhausted if there is no room and every session stays.
        """
        limit = self.limit(session)
        counted = [other for other in self if self.limit(other) is limit]
        if len(counted) < limit.most:
            return None
        if (evicted := limit.evicted(counted)) is None:
            raise limit.exhausted()
        return evicted

    def add(self, session: S) -> None:
        """Add a session. Raises ResourceExhausted if there is no room."""
        if self.evicted_for(session):
            raise self.limit(session).exhausted()
        self._sessions[session.id] = session

    def put_back(self, session: S) -> None:
        """Add a session from before the server's start, whatever the limits are now."""
        self._sessions[session.id] = session

    def remove(self, session: S) -> bool:
        """Remove a session. Return False if it was not in the table."""
        if self._sessions.get(session.id) is not session:
            return False
        del self._sessions[session.id]
        return True
