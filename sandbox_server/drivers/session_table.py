"""Sessions by their id, for shells, bash, kernels and Node.js: valid ids, how many there may be, and which one is evicted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Protocol

from sandbox_server.core.errors import InvalidArgument, NotFound, ResourceExhausted

MAX_ID = 128
"""Characters of an id."""
RETRY_AFTER = 5.0
"""Seconds after which a caller is told to try again."""


class Session(Protocol):
    """What a table holds."""

    @property
    def id(self) -> str:
        """By which it is found."""


def require_valid_id(session_id: str, field: Literal["id", "session_id"] = "session_id") -> None:
    """Raise InvalidArgument, which names `field`, for an id that no session may have."""
    if len(session_id) > MAX_ID or not session_id.isprintable() or "/" in session_id:
        details: dict[str, Any] = {field: session_id[:MAX_ID]}
        raise InvalidArgument(f"a session id has at most {MAX_ID} printable characters and no slash", **details)


def _nobody[S](_: Sequence[S]) -> S | None:
    return None


def _all(_: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SessionLimit[S: Session]:
    """At most so many sessions, of those that `counts` is true for."""

    most: int
    message: str
    """What a caller hears when there is no room: what is in use."""
    hint: str
    """What the caller can do then."""
    evicted: Callable[[Sequence[S]], S | None] = _nobody
    """Of the sessions that count, the one that makes room for another; None where all stay."""
    counts: Callable[[S], bool] = _all

    def exhausted(self, retry_after: float = RETRY_AFTER) -> ResourceExhausted:
        """The failure that says so."""
        return ResourceExhausted(self.message, retry_after=retry_after, hint=self.hint)


class SessionTable[S: Session]:
    """The sessions of one kind. Each is under the first of `limits` that it counts for. To end a session is its owner's part."""

    def __init__(self, *limits: SessionLimit[S]) -> None:
        self.limits = limits
        self._sessions: dict[str, S] = {}
        self.by_id: Mapping[str, S] = MappingProxyType(self._sessions)

    def __iter__(self) -> Iterator[S]:
        """The sessions of this moment, the oldest first."""
        return iter(list(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def get(self, session_id: str) -> S:
        """The session of that id; raises NotFound with the contract's message."""
        if session_id not in self._sessions:
            raise NotFound("Session not found", session_id=session_id)
        return self._sessions[session_id]

    def find(self, session_id: str) -> S | None:
        """The session of that id; None where there is none."""
        return self._sessions.get(session_id)

    def limit(self, session: S) -> SessionLimit[S]:
        """The limit that a session is under."""
        return next(limit for limit in self.limits if limit.counts(session))

    def evicted_for(self, session: S) -> S | None:
        """The session that has to be removed before `session` can be added; None where there is room.

        Raises ResourceExhausted where there is no room and every session stays.
        """
        limit = self.limit(session)
        counted = [other for other in self if self.limit(other) is limit]
        if len(counted) < limit.most:
            return None
        if (evicted := limit.evicted(counted)) is None:
            raise limit.exhausted()
        return evicted

    def add(self, session: S) -> None:
        """Add a session. Raises ResourceExhausted where there is no room."""
        if self.evicted_for(session):
            raise self.limit(session).exhausted()
        self._sessions[session.id] = session

    def put_back(self, session: S) -> None:
        """Add a session that was there before the server started, whatever the limits are now."""
        self._sessions[session.id] = session

    def remove(self, session: S) -> bool:
        """Forget a session; False where it was not there any more."""
        if self._sessions.get(session.id) is not session:
            return False
        del self._sessions[session.id]
        return True
