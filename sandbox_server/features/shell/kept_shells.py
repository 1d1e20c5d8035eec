"""What a checkpoint keeps of shell sessions: those of programs. A person's own are left out."""

import asyncio
from collections.abc import Callable, Mapping

from sandbox_server.core import Failure
from sandbox_server.drivers.forks.fork_state import MAX_PATH, MAX_SCREEN, MAX_SHELLS, MAX_VARIABLES, KeptShell
from sandbox_server.drivers.shells.exported_variables import portable
from sandbox_server.features.shell.session import AGENT_ENVIRONMENT, ShellSession
from sandbox_server.features.shell.sessions import ShellSessions

SCREEN_ROWS = 500
"""Rows of a terminal that are kept, the last ones."""


class KeptShells:
    """Notes the sessions. `initial` is what shells start with, `masked` takes secrets out of a text."""

    def __init__(self, sessions: ShellSessions, initial: Callable[[], Mapping[str, str]], masked: Callable[[str], str]) -> None:
        self._sessions = sessions
        self._initial = initial
        self._masked = masked

    async def note(self) -> tuple[KeptShell, ...]:
        """Return the sessions of programs; what a shell that hangs would have said of itself is missing."""
        found = [each for each in await self._sessions.all() if not each.profile.by_person and not each.closed][:MAX_SHELLS]
        initial = dict(self._initial()) | AGENT_ENVIRONMENT
        return tuple(await asyncio.gather(*(self._note(each, initial) for each in found)))

    async def _note(self, session: ShellSession, initial: Mapping[str, str]) -> KeptShell:
        variables, screen = session.inherited, session.inherited_screen
        try:
            if session.shell and not session.state.over:
                variables, screen = await session.variables(), await _screen(session)
        except Failure:
            pass
        exported = portable(variables.decode("utf-8", "replace"), initial, lambda text: self._masked(text) != text)
        profile, directory = session.profile, session.state.directory.encode("utf-8", "replace").decode()
        return KeptShell(
            id=session.id,
            directory=directory if directory.startswith("/") and len(directory) <= MAX_PATH else "/",
            variables=exported if len(exported) <= MAX_VARIABLES else "",
            screen=self._masked(screen.decode("utf-8", "replace").replace("\0", ""))[-MAX_SCREEN:],
            implicit=profile.implicit,
            personal=profile.personal,
            no_change_timeout=profile.no_change_timeout,
        )


async def _screen(session: ShellSession) -> bytes:
    screen = await session.started.capture()
    rows = screen.main if screen.state.alternate else screen.lines
    while rows and not rows[-1].strip():
        rows = rows[:-1]
    return b"\n".join(rows[-SCREEN_ROWS:])
