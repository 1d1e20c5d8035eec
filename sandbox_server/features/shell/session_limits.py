"""Who may have how many sessions, which of them makes way for another, and who waits for one that is busy."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_profile import SessionPool

FOR_PEOPLE = 8
"""Sessions that people may open at terminals."""
FOR_TERMINALS = 8
"""Sessions that programs may open at terminals; no terminal takes the place of a session of commands."""
MAX_WAITING = 256
"""Calls that may wait for a session at once."""


class SessionLimits:
    """Which session a command without one gets, and which one is evicted.

    `evict_after` is the seconds of idleness after which any session makes way; 0 is never.
    """

    def __init__(self, sessions: Mapping[str, ShellSession], evict_after: float) -> None:
        self._sessions = sessions
        self._evict_after = evict_after

    def idle_implicit(self) -> ShellSession | None:
        """The session for a command that names none: an idle one that such a command made, the latest used, one whose shell lives first."""
        idle = [session for session in self._of("programs") if session.profile.implicit and session.idle and not _is_paused(session)]
        return max(idle, key=lambda session: (session.state.over is None, session.last_used_at), default=None)

    @property
    def hopeful(self) -> bool:
        """Whether a command that names none may find a session later: one that such a command made is busy now."""
        return any(session.profile.implicit for session in self._of("programs"))

    def leaving(self, pool: SessionPool) -> ShellSession | None:
        """The session that makes way for a newcomer: what loses least first, then what was used longest ago; None: nobody does."""
        ranked = [(rank, session) for session in self._of(pool) if (rank := self._rank(session)) is not None]
        return min(ranked, key=lambda entry: (entry[0], entry[1].last_used_at), default=(0, None))[1]

    def _of(self, pool: SessionPool) -> list[ShellSession]:
        return [session for session in self._sessions.values() if session.profile.pool == pool]

    def _rank(self, session: ShellSession) -> int | None:
        """How much is lost with a session, the less the sooner it makes way; None: it stays."""
        profile, attached = session.profile, bool(session.state.viewers)
        if session.reserved or session.opening or (profile.by_person and session.people):
            return None
        if session.state.over:
            return 0
        if profile.by_person:  # whatever a program does to it: a person finds room
            return int(profile.used) * (1 + session.state.busy)
        if session.state.busy:
            return None
        if profile.personal and not attached:
            return int(profile.used)
        if profile.implicit and not attached:
            return 1
        return 2 if self._evict_after and session.idle_seconds >= self._evict_after else None


class WaitingLine:
    """Calls that wait until they get a session, first come, first served."""

    def __init__(self, give_back: Callable[[ShellSession], None]) -> None:
        self._waiting: deque[tuple[asyncio.Future[ShellSession], Callable[[], ShellSession | None]]] = deque()
        self._give_back = give_back
        """What becomes of a session whose caller has left when it got it."""

    async def stand(self, attempt: Callable[[], ShellSession | None], seconds: float) -> ShellSession | None:
        """Give what `attempt` gives as soon as it gives something; None after `seconds`, or where too many wait."""
        if not self._waiting and (got := attempt()):
            return got
        if seconds <= 0 or len(self._waiting) >= MAX_WAITING:
            return None
        mine = asyncio.get_running_loop().create_future()
        entry = (mine, attempt)
        self._waiting.append(entry)
        try:
            await asyncio.wait([mine], timeout=seconds)
        except asyncio.CancelledError:
            if mine.done():
                self._give_back(mine.result())
            raise
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
        return mine.result() if mine.done() else None

    def move(self) -> None:
        """Let those in front try: a session may have become free."""
        while self._waiting and (got := self._waiting[0][1]()):
            self._waiting.popleft()[0].set_result(got)


def _is_paused(session: ShellSession) -> bool:
    """Whether a session stands still with the agent."""
    return session.shell is not None and session.shell.paused
