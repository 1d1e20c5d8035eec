"""All sessions: at most so many, found by id, remembered when they are gone, taken over when the server starts again."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Self
from uuid import uuid4

from sandbox_server.core import Failure, NotFound, ResourceExhausted, Tasks, Unavailable
from sandbox_server.drivers.session_table import RETRY_AFTER, SessionLimit, SessionTable, require_valid_id
from sandbox_server.drivers.shells.session_store import ShellStore, StoredSession
from sandbox_server.drivers.shells.shells import ShellStart, TmuxShells
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_limits import FOR_PEOPLE, FOR_TERMINALS, SessionLimits, WaitingLine
from sandbox_server.features.shell.session_profile import SessionPool, ShellProfile
from sandbox_server.features.shell.state import LastInput
from sandbox_server.timeouts import scaled

MAX_GONE = 1000
"""Ids of closed sessions that are remembered."""
MOST_RETRY_AFTER = 60.0
UNUSED_SECONDS = 30.0
"""How long a session that a page made and nobody used outlives the page: a page that is loaded anew finds it."""
CLOSE_SECONDS = 5.0
"""How long the server's end waits for sessions that are being closed."""
RESTORE_TRIES = 20
RESTORE_PAUSE = 0.5
NOTE_SECONDS = scaled(2.0)
"""How long it may take to note what all shells export, and before that to open them: their box may be too busy for either."""

_log = logging.getLogger(__name__)


class ShellSessions:
    """The sessions; an asynchronous context manager, which leaves the shells running."""

    def __init__(self, shells: TmuxShells, store: ShellStore, *, limit: int, evict_after: float) -> None:
        self.limit = limit
        self.evict_after = evict_after
        """Seconds of idleness after which a session may be closed to make room; 0 is never."""
        self._shells = shells
        self._store = store
        self._table = self._bounded(limit)
        self._gone: deque[str] = deque(maxlen=MAX_GONE)
        self._promised: deque[str] = deque(maxlen=MAX_GONE)
        self._tasks = Tasks()
        self._reopening: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self.limits = SessionLimits(self._table.by_id, evict_after)
        self._line = WaitingLine(self._give_back)
        self._restored = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._restore(), name="taking over the shell sessions")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        complete = self._restored.is_set()
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSE_SECONDS)
        await self._tasks.close()
        if complete:
            self.save()  # with the directories as they are now
        for session in self._table:
            if session.shell:
                session.shell.leave()

    async def all(self) -> list[ShellSession]:
        """Every session."""
        await self._restored.wait()
        return list(self._table)

    @property
    def busy(self) -> bool:
        """Whether a command runs in any of them, or a person looks at one."""
        return any(session.state.busy or session.state.viewers for session in self._table)

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
                await asyncio.gather(*(_note(session, noted) for session in self._table))
        return noted

    def reopen(self, noted: Mapping[str, bytes]) -> list[str]:
        """Open the shell of every session again where it was, with what it exported, after all of them ended with their box.

        Gives their ids at once: who needs one of them meanwhile waits until it is open.
        """
        self._shells.ended()
        ended = [session for session in self._table if session.state.over]
        for session in ended:
            session.inherited = noted.get(session.id, b"")
        self._reopening = {self._tasks.start(self._reopen(session), name=f"opening session {session.id} again") for session in ended}
        return [session.id for session in ended]

    async def get(self, session_id: str) -> ShellSession:
        """The session of that id; raises NotFound with the contract's message."""
        await self._restored.wait()
        if (session := self._table.find(session_id)) is None:
            raise NotFound("Session not found")  # clients of the contract expect no details
        session.touch()
        return session

    async def find(self, session_id: str) -> ShellSession | None:
        """The session of that id, opened; None for one that never was. Raises NotFound for one that is gone."""
        await self._restored.wait()
        if session_id not in self._table and session_id not in self._gone:
            return None
        session = await self.get(session_id)
        await session.opened()
        return session

    async def latest(self) -> ShellSession | None:
        """The session in which something was last run or typed, opened; None where there is none.

        One whose shell lives goes before one that has ended.
        """
        found = sorted(await self.all(), key=_latest)
        while found:
            with suppress(NotFound):  # it is being closed, or did not open
                await found[-1].opened()
                found[-1].touch()
                return found[-1]
            found.pop()
        return None

    async def implicit(self, start: ShellStart, wait: float = 0) -> ShellSession:
        """Reserve an idle session for a command that names none, or a new one; it is released by the caller.

        While all of them are busy it is waited for one, at most `wait` seconds. Raises ResourceExhausted, and as `create`.
        """
        return await self._reserve(lambda: self._reserve_idle() or self._place(ShellProfile(str(uuid4()), implicit=True)), start, wait)

    async def fresh(self, start: ShellStart, wait: float = 0) -> ShellSession:
        """Reserve a new session, which the next command that names none goes on with; otherwise as `implicit`."""
        return await self._reserve(lambda: self._place(ShellProfile(str(uuid4()), implicit=True)), start, wait)

    async def create(self, profile: ShellProfile, start: ShellStart) -> ShellSession:
        """Open a session, or give the one of that id.

        Raises InvalidArgument for an unusable id, ResourceExhausted when there are too many, Unavailable when the shell does not start.
        """
        await self._restored.wait()
        require_valid_id(profile.id, "id")
        if existing := self._table.find(profile.id):
            await existing.opened()
            return existing
        session = self._place(profile)
        if session is None:
            raise self._limit(profile.pool).exhausted()
        await self._open(session, start)
        session.release()
        return session

    def promise(self) -> str:
        """Make up the id of a session that is made when it is first opened or used."""
        self._promised.append(str(uuid4()))
        return self._promised[-1]

    async def withdraw(self, session_id: str) -> None:
        """Close the session of that id, also one that was promised and never made. Raises NotFound."""
        await self._restored.wait()
        if session_id in self._promised and session_id not in self._table:
            self._promised.remove(session_id)
            self._gone.append(session_id)
            self.save()
        else:
            await self.remove(await self.get(session_id))

    async def remove(self, session: ShellSession) -> None:
        """Close a session; its id stays known as gone."""
        if self._forget(session):
            self._gone.append(session.id)
            self.save()
            await session.close()
            self._line.move()

    def left(self, session: ShellSession) -> None:
        """Take it that a terminal does not show a session any more: one that was never used goes with the last of them, after a while."""
        self._line.move()
        if self._abandoned(session):
            self._tasks.start(self._sweep(session), name=f"closing session {session.id} unless somebody comes back")

    async def _reserve(self, attempt: Callable[[], ShellSession | None], start: ShellStart, wait: float) -> ShellSession:
        await self._restored.wait()
        wait = wait if self.limits.hopeful else 0
        session = await self._line.stand(attempt, wait)
        if session is None:
            raise self._limit("programs").exhausted(min(max(wait, RETRY_AFTER), MOST_RETRY_AFTER))
        if session.shell is None and session.state.over is None:
            await self._open(session, start)
        return session

    def _reserve_idle(self) -> ShellSession | None:
        session = self.limits.idle_implicit()
        if session:
            session.reserved = True
        return session

    def _place(self, profile: ShellProfile) -> ShellSession | None:
        """Give a session that is to be opened a place, and reserve it; None where nobody makes way."""
        session, made_room = self._made(profile), None
        try:
            while evicted := self._table.evicted_for(session):
                made_room = (
                    "a shell that had ended made room" if evicted.state.over else "the shell that was idle longest was closed to make room"
                )
                self._close_for_another(evicted)
        except ResourceExhausted:
            return None
        self._table.add(session)
        session.reserved, session.made_room = True, made_room
        for known in (self._gone, self._promised):
            if profile.id in known:
                known.remove(profile.id)
        return session

    def _made(self, profile: ShellProfile) -> ShellSession:
        return ShellSession(profile, self._shells, self._tasks, self.save, lambda: self._line.move())

    async def _open(self, session: ShellSession, start: ShellStart) -> None:
        try:
            await session.open(start)
        except BaseException:
            self._forget(session)
            await session.close()
            self._line.move()
            raise

    def _give_back(self, session: ShellSession) -> None:
        """Take back what was reserved for a caller who has left."""
        if session.shell is None and session.state.over is None:
            self._forget(session)  # it was never opened
            self._line.move()
        else:
            session.release()

    def _close_for_another(self, session: ShellSession) -> None:
        self._forget(session)
        if session.state.over is None:  # nothing is lost with one that has ended: its id may be used anew
            self._gone.append(session.id)
        closing = self._tasks.start(session.close(), name=f"closing session {session.id}")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _forget(self, session: ShellSession) -> bool:
        return self._table.remove(session)  # somebody may have closed it meanwhile

    def _bounded(self, limit: int) -> SessionTable[ShellSession]:
        """A table with the places of each pool."""
        api = "close one with DELETE /v1/shell/sessions/{session_id}, or use one that there is"
        page = "close one, or open a session that there is"
        self._limits: dict[SessionPool, SessionLimit[ShellSession]] = {
            "programs": self._pool("programs", limit, f"all {limit} shell sessions are in use", api),
            "terminals": self._pool("terminals", FOR_TERMINALS, f"all {FOR_TERMINALS} terminals of programs are open", api),
            "people": self._pool("people", FOR_PEOPLE, f"all {FOR_PEOPLE} terminals of people are open", page),
        }
        return SessionTable(*self._limits.values())

    def _pool(self, pool: SessionPool, most: int, message: str, hint: str) -> SessionLimit[ShellSession]:
        return SessionLimit(most, message, hint, lambda _: self.limits.leaving(pool), lambda session: session.profile.pool == pool)

    def _limit(self, pool: SessionPool) -> SessionLimit[ShellSession]:
        return self._limits[pool]

    def _abandoned(self, session: ShellSession) -> bool:
        return session.profile.personal and not session.profile.used and not session.state.viewers and session.idle

    async def _sweep(self, session: ShellSession) -> None:
        await asyncio.sleep(UNUSED_SECONDS)
        if self._abandoned(session) and self._forget(session):  # its id may be used anew: nothing was lost with it
            self.save()
            await session.close()
            self._line.move()

    def save(self) -> None:
        """Write down which sessions there are."""
        self._store.write(map(_stored, self._table), self._gone)

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
        whose = (entry.implicit, entry.personal, entry.by_person, entry.owner, entry.used)
        session = self._made(ShellProfile(entry.id, *whose, entry.no_change_timeout, created_at))
        if entry.input_at:
            session.state.last_input = LastInput(datetime.fromisoformat(entry.input_at), entry.input_by_person)
        for _ in range(RESTORE_TRIES):
            try:
                shell = await self._shells.adopt(entry.key, session) if entry.key else None
                await session.adopt(shell, entry.directory)
                session.inherited = entry.variables.encode("utf-8", "surrogateescape")
                session.inherited_screen = entry.screen.encode("utf-8", "surrogateescape")
            except Unavailable:  # the spawner may still be starting
                await asyncio.sleep(RESTORE_PAUSE)
            except Failure:
                _log.exception("session %s cannot be taken over", entry.id)
                return
            else:
                self._table.put_back(session)
                if entry.variables or entry.screen:
                    self._reopening.add(self._tasks.start(self._reopen(session), name=f"opening session {session.id} again"))
                self.left(session)
                return

    async def _reopen(self, session: ShellSession) -> None:
        try:
            await session.reopen()
        except NotFound:
            return  # it was closed meanwhile
        except Failure:
            _log.exception("session %s cannot be opened again now; its next command tries it once more", session.id)
        finally:
            self._line.move()


def _latest(session: ShellSession) -> tuple[bool, bool, datetime]:
    last = session.state.last_input
    return session.state.over is None, session.profile.used, last.at if last else session.profile.created_at


async def _note(session: ShellSession, noted: dict[str, bytes]) -> None:
    with suppress(Failure):
        noted[session.id] = await session.variables()


def _stored(session: ShellSession) -> StoredSession:
    profile, last = session.profile, session.state.last_input
    return StoredSession(
        id=profile.id,
        key=session.shell.key if session.shell and session.shell.pane else None,
        directory=session.state.directory,
        implicit=profile.implicit,
        personal=profile.personal,
        by_person=profile.by_person,
        owner=profile.owner,
        used=profile.used,
        input_at=last.at.isoformat() if last else "",
        input_by_person=bool(last and last.by_person),
        no_change_timeout=profile.no_change_timeout,
        variables=session.inherited.decode("utf-8", "surrogateescape"),
        screen=session.inherited_screen.decode("utf-8", "surrogateescape"),
        created_at=profile.created_at.isoformat(),
    )
