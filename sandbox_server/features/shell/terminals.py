"""Terminals: a session on a page, over a socket."""

from contextlib import suppress
from uuid import uuid4

from sandbox_server.core import (
    Call,
    Caller,
    HeldByHuman,
    InvalidArgument,
    Model,
    NotFound,
    ResourceExhausted,
    Socket,
    Unavailable,
    socket,
)
from sandbox_server.core.control import Control
from sandbox_server.core.hints import join_hints
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_profile import ShellProfile
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.shell_input import ShellInput
from sandbox_server.features.shell.start_directory import start_in
from sandbox_server.features.shell.terminal import HELD, NO_ROOM, Terminal


class TerminalRequest(Model):
    session_id: str | None = None
    """Session to show; it is made where there never was one of that id. Default: a new one; without `create` the one used last."""
    create: bool = True
    """Make a session where there is none to show."""


class ShellTerminals:
    """Terminals of people and programs."""

    tag = "shell"

    def __init__(self, sessions: ShellSessions, control: Control, *, workspace: str) -> None:
        self._sessions = sessions
        self._control = control
        self._workspace = workspace

    @socket("/v1/shell/ws", scope="shell")
    async def terminal(self, request: TerminalRequest, socket: Socket, call: Call) -> None:
        """Show a session's terminal and type into it: JSON messages, `output` and `input` above all.

        With `session_id` the session is attached with what its screen shows and what has scrolled away above; without it, and with
        `create` false, the session in which something was last run or typed. A session that was
        opened this way and never used ends half a minute after its last terminal. The socket closes with 4404 where there is no
        session, 4429 where there is no room for a new one, and 4423 where a person keeps programs from opening one.
        """
        typist = ShellInput(call.caller, self._control)
        terminal = Terminal(socket, typist.may_type, typist.typed)
        try:
            session = await self._existing(request) or await self._opened_for(call.caller, request)
        except (NotFound, InvalidArgument, Unavailable) as failure:
            await terminal.refuse(failure.message)
            return
        except (ResourceExhausted, HeldByHuman) as failure:
            await terminal.refuse(
                join_hints(failure.message, failure.hint) or "", NO_ROOM if isinstance(failure, ResourceExhausted) else HELD
            )
            return
        typist.session = session
        session.people += call.caller.person
        try:
            with suppress(ConnectionError), self._control.watching(call.caller):
                await terminal.show(session)
        finally:
            session.people -= call.caller.person
            self._sessions.left(session)

    async def _existing(self, request: TerminalRequest) -> ShellSession | None:
        if request.session_id:
            return await self._sessions.find(request.session_id)
        return None if request.create else await self._sessions.latest()

    async def _opened_for(self, caller: Caller, request: TerminalRequest) -> ShellSession:
        """Open a session for a terminal: a person finds room beside all programs, a program opens none while a person has the shells."""
        if not request.create:
            raise NotFound("Session not found" if request.session_id else "there is no session yet")
        if not caller.person and not self._control.drives(caller, "shell"):
            raise HeldByHuman("somebody else has control: no new session is opened", hint="open one that there is, to look at it")
        owner = caller.name if caller.person else ""
        profile = ShellProfile(request.session_id or str(uuid4()), personal=True, by_person=caller.person, owner=owner)
        return await self._sessions.create(profile, start_in(self._workspace, None))
