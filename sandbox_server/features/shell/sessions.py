"""All sessions: at most so many, found by id, remembered when they are gone, taken over when the server starts again."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Self
from uuid import uuid4

from sandbox_server.core import Failure, InvalidArgument, NotFound, ResourceExhausted, Tasks, Unavailable
from sandbox_server.drivers.shells.shells import Shells, Start
from sandbox_server.drivers.shells.store import ShellStore, StoredSession
from sandbox_server.features.shell.session import Profile, Session

MAX_GONE = 1000
"""Ids of closed sessions that are remembered."""
MAX_ID = 128
RETRY_AFTER = 5.0
RESTORE_TRIES = 20
RESTORE_PAUSE = 0.5
NOTE_SECONDS = 2.0
"""How long it may take to note what all shells export, and before that to open them: their box may be too busy for either."""

_log = logging.getLogger(__name__)


class Sessions:
    """The sessions; an asynchronous context manager, which leaves the shells running."""

    def __init__(self, shells: Shells, store: ShellStore, *, limit: int, evict_after: float) -> None:
        self.limit = limit
        self.evict_after = evict_after
        """Seconds of idleness after which a session may be closed to make room; 0 is never."""
        self._shells = shells
        self._store = store
        self._sessions: dict[str, Session] = {}
        self._gone: deque[str] = deque(maxlen=MAX_GONE)
        self._tasks = Tasks()
        self._reopening: set[asyncio.Task[None]] = set()
        self._restored = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._restore(), name="taking over the shell sessions")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        complete = self._restored.is_set()
        await self._tasks.close()
        if complete:
            self.save()  # with the directories as they are now
        for session in self._sessions.values():
            if session.shell:
                session.shell.leave()

    async def all(self) -> list[Session]:
        """Every session."""
        await self._restored.wait()
        return list(self._sessions.values())

    @property
    def busy(self) -> bool:
        """Whether a command runs in any of them, or a person looks at one."""
        return any(session.state.busy or session.state.viewers for session in self._sessions.values())

    async def note(self) -> Mapping[str, bytes]:
        """Note what every shell exports, before all of them end with their box; those that are just being opened are waited for."""
        await self._restored.wait()
        if self._reopening:
            _, late = await asyncio.wait(self._reopening, timeout=NOTE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        noted = dict[str, bytes]()
        with suppress(TimeoutError):
            async with asyncio.timeout(NOTE_SECONDS):
                await asyncio.gather(*(_note(session, noted) for session in self._sessions.values()))
        return noted

    def reopen(self, noted: Mapping[str, bytes]) -> list[str]:
        """Open the shell of every session again where it was, with what it exported, after all of them ended with their box.

        Gives their ids at once: who needs one of them meanwhile waits until it is open.
        """
        self._shells.ended()
        ended = [session for session in self._sessions.values() if session.state.over]
        for session in ended:
            session.inherited = noted.get(session.id, b"")
        self._reopening = {self._tasks.start(_reopen(session), name=f"opening session {session.id} again") for session in ended}
        return [session.id for session in ended]

    async def get(self, session_id: str) -> Session:
        """The session of that id; raises NotFound with the contract's message."""
        await self._restored.wait()
        if session_id not in self._sessions:
            raise NotFound("Session not found")
        session = self._sessions[session_id]
        session.touch()
        return session

    async def find(self, session_id: str) -> Session | None:
        """The session of that id, opened; None for one that never was. Raises NotFound for one that is gone."""
        await self._restored.wait()
        if session_id not in self._sessions and session_id not in self._gone:
            return None
        session = await self.get(session_id)
        await session.opened()
        return session

    async def implicit(self, start: Start) -> Session:
        """Reserve an idle session for a command that names none, or a new one. The caller ends the reservation."""
        await self._restored.wait()
        session = max(self._idle(implicit=True), key=lambda session: session.last_used_at, default=None)
        if session is None:
            return await self.create(Profile(str(uuid4()), implicit=True), start, reserved=True)
        session.reserved = True
        return session

    async def fresh(self, start: Start) -> tuple[Session, str | None]:
        """Reserve a new session, which the next command that names none goes on with; the sentence says what was closed for it."""
        await self._restored.wait()
        oldest = min(self._idle(implicit=True), key=lambda session: session.last_used_at, default=None)
        closed = oldest is not None and len(self._sessions) >= self.limit
        if oldest and closed:
            await self.remove(oldest)
        session = await self.create(Profile(str(uuid4()), implicit=True), start, reserved=True)
        return session, "the shell that was idle longest was closed to make room" if closed else None

    async def create(self, profile: Profile, start: Start, *, reserved: bool = False) -> Session:
        """Open a session, or give the one of that id.

        Raises InvalidArgument for an unusable id, ResourceExhausted when there are too many, Unavailable when the shell does not start.
        """
        await self._restored.wait()
        if len(profile.id) > MAX_ID or not profile.id.isprintable() or "/" in profile.id:
            raise InvalidArgument(f"a session id has at most {MAX_ID} printable characters and no slash", id=profile.id[:MAX_ID])
        if profile.id not in self._sessions:
            await self._make_room()
        if existing := self._sessions.get(profile.id):
            await existing.opened()
            return existing
        session = self._sessions[profile.id] = Session(profile, self._shells, self._tasks, self.save)
        session.reserved = True  # until it is open
        if profile.id in self._gone:
            self._gone.remove(profile.id)
        try:
            await session.open(start)
        except BaseException:
            if self._sessions.get(profile.id) is session:  # nobody has closed it meanwhile
                del self._sessions[profile.id]
            await session.close()
            raise
        session.reserved = reserved
        return session

    async def remove(self, session: Session) -> None:
        """Close a session; its id stays known as gone."""
        if self._sessions.pop(session.id, None):
            self._gone.append(session.id)
            self.save()
            await session.close()

    def save(self) -> None:
        """Write down which sessions there are."""
        self._store.write(map(_stored, self._sessions.values()), self._gone)

    def _idle(self, *, implicit: bool = False) -> list[Session]:
        return [
            session
            for session in self._sessions.values()
            if session.shell and not session.reserved and not session.state.busy and (session.profile.implicit or not implicit)
        ]

    async def _make_room(self) -> None:
        while len(self._sessions) >= self.limit:  # another caller may take the room that was made
            oldest = min(self._idle(), key=lambda session: session.last_used_at, default=None)
            idle = (datetime.now(UTC) - oldest.last_used_at).total_seconds() if oldest else 0
            if oldest is None or not self.evict_after or idle < self.evict_after:
                raise ResourceExhausted(
                    f"all {self.limit} shell sessions are in use",
                    retry_after=RETRY_AFTER,
                    hint="close one with DELETE /v1/shell/sessions/{session_id}, or use one that there is",
                )
            await self.remove(oldest)

    async def _restore(self) -> None:
        try:
            stored = self._store.read()
            self._gone.extend(stored.gone)
            for entry in stored.sessions:
                await self._take_over(entry)
            if stored.sessions:
                self.save()
        finally:
            self._restored.set()

    async def _take_over(self, entry: StoredSession) -> None:
        created_at = datetime.fromisoformat(entry.created_at)
        profile = Profile(entry.id, entry.implicit, entry.personal, entry.no_change_timeout, created_at)
        session = Session(profile, self._shells, self._tasks, self.save)
        for _ in range(RESTORE_TRIES):
            try:
                shell = await self._shells.adopt(entry.key, session) if entry.key else None
                await session.adopt(shell, entry.directory)
            except Unavailable:  # the spawner may still be starting
                await asyncio.sleep(RESTORE_PAUSE)
            except Failure:
                _log.exception("session %s cannot be taken over", entry.id)
                return
            else:
                self._sessions[entry.id] = session
                return


async def _note(session: Session, noted: dict[str, bytes]) -> None:
    with suppress(Failure):
        noted[session.id] = await session.variables()


async def _reopen(session: Session) -> None:
    try:
        await session.reopen()
    except NotFound:
        return  # it was closed meanwhile
    except Failure:
        _log.exception("session %s cannot be opened again now; its next command tries it once more", session.id)


def _stored(session: Session) -> StoredSession:
    profile = session.profile
    return StoredSession(
        id=profile.id,
        key=session.shell.key if session.shell and session.shell.pane else None,
        directory=session.state.directory,
        implicit=profile.implicit,
        personal=profile.personal,
        no_change_timeout=profile.no_change_timeout,
        created_at=profile.created_at.isoformat(),
    )
