"""The operations on shell sessions."""

import time
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

from sandbox_server.core import (
    Call,
    Caller,
    Event,
    HeldByHuman,
    InvalidArgument,
    NotFound,
    Reply,
    ResourceExhausted,
    Socket,
    TooLarge,
    Unavailable,
    operation,
    socket,
    stream_of,
)
from sandbox_server.core.control import Control
from sandbox_server.drivers.shells.commands import ShellCommand
from sandbox_server.drivers.shells.isolated_shells import IsolatedShells
from sandbox_server.drivers.shells.risky_commands import is_risky
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.features.shell.command import BashCommandStatus, RunningCommand
from sandbox_server.features.shell.follow import EVENTS as COMMAND_EVENTS
from sandbox_server.features.shell.follow import ShellPosition, follow
from sandbox_server.features.shell.session import ShellProfile, ShellSession
from sandbox_server.features.shell.session_limits import FOR_PEOPLE
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.shell_input import ShellInput
from sandbox_server.features.shell.terminal import HELD, NO_ROOM, Terminal
from sandbox_server.features.shell.view import EVENTS as TERMINAL_EVENTS
from sandbox_server.features.shell.view import follow_terminal, screen_text
from sandbox_server.features.shell.wire import (
    ActiveShellSessionsResult,
    ConsoleRecord,
    ExecuteBashRequest,
    ShellCommandResult,
    ShellCreateSessionRequest,
    ShellCreateSessionResponse,
    ShellExecRequest,
    ShellId,
    ShellKillResult,
    ShellSessionRef,
    ShellSessionState,
    ShellSessionStats,
    ShellUpdateSessionRequest,
    ShellViewRequest,
    ShellViewResult,
    ShellWaitRequest,
    ShellWaitResult,
    ShellWriteResult,
    ShellWriteToProcessRequest,
    TerminalRequest,
)

ACTIVE_SECONDS = 300.0
WAIT_SECONDS = 30
"""How long `wait` waits, and a command for a session, where the caller does not say."""
MAX_INPUT = 64 << 10
"""Bytes that are typed at once."""
NOTICED_SECONDS = 1.0
"""What a command may wait for its session without that it counts."""
_STILL_RUNS = "the command still runs: wait for it, view it, write to it or kill it with its session id"


class Shell:
    """Shells of the agent, which a person sees and uses too."""

    tag = "shell"

    def __init__(self, sessions: ShellSessions, fenced: IsolatedShells, control: Control, *, workspace: str) -> None:
        self._sessions = sessions
        self._fenced = fenced
        self._control = control
        self._workspace = workspace

    @operation("POST /v1/shell/exec", scope="shell", risky=lambda request: is_risky(request.command), acts="shell")
    async def exec_command(self, request: ShellExecRequest) -> Reply[ShellCommandResult]:
        """Run a command in a shell session.

        Without an `id` an idle session is used, or one is made. `cd`, variables and functions stay in the session. The answer comes when
        the command has ended, or after `timeout`, or after `no_change_timeout` without output; in the last two cases it goes on.
        An `exit_code` is one that was observed, never a guess. A session runs one command at a time: another one is answered 409.

        With `Accept: text/event-stream` the output comes as it is written: `status`, then `output` events with `output` and `seq`, then
        `exit`, or `status` where the waiting ended first. To resume, send the same request with the last event's id as `Last-Event-ID`:
        the command is not run again, and a `gap` event says which bytes were not kept.
        """
        return await self._finish(*await self._start(request))

    async def _finish(
        self, request: ShellExecRequest, session: ShellSession, command: RunningCommand, hint: str | None
    ) -> Reply[ShellCommandResult]:
        if request.async_mode:
            return Reply(_result(session, command, "running"), hint=_join(hint, command.hint))
        status = await command.settle(request.timeout, _silence(session, request.no_change_timeout))
        output = await command.output(truncate=request.truncate)
        still = _STILL_RUNS if status in ("running", "no_change_timeout") else None
        return Reply(_result(session, command, status, output), hint=_join(hint, command.hint, still))

    @stream_of(exec_command, events=COMMAND_EVENTS)
    async def stream_exec(self, request: ShellExecRequest, call: Call) -> AsyncIterator[Event]:
        """Run a command and give its output as events, or go on with one after `Last-Event-ID`."""
        if call.last_event_id:
            position = ShellPosition.parse(call.last_event_id)
            session = await self._sessions.get(position.session_id)
            command = session.commands.get(position.token)
            if command is None:
                raise NotFound("Command not found", hint="a session remembers its last commands only", session_id=session.id)
        else:
            request, session, command, hint = await self._start(request)
            command.add_hint(hint)
            position = ShellPosition(session.id, command.token, 0)
        timeout = 0 if request.async_mode else request.timeout
        return follow(command, position, timeout, _silence(session, request.no_change_timeout))

    @operation(
        "POST /v1/shell/run",
        scope="shell",
        tool="sandbox_execute_bash",
        aliases=("sandbox_exec_command",),
        risky=lambda request: is_risky(request.cmd),
        acts="shell",
    )
    async def execute_bash(self, request: ExecuteBashRequest) -> Reply[ShellCommandResult]:
        """Run a command in bash and give its output.

        The shell stays: the next call goes on in its directory, with its variables. A command that takes longer than `timeout` goes on;
        look at it with the `session_id` of the answer, or end it.
        """
        given = ShellExecRequest(
            command=request.cmd,
            exec_dir=request.cwd,
            timeout=request.timeout,
            no_change_timeout=0,
            truncate=request.truncate,
            async_mode=request.run_in_background,
            strict=True,
            isolation=request.isolation,
        )
        return await self._finish(*await self._start(given, fresh=request.new_session))

    @operation("POST /v1/shell/view", scope="shell", read_only=True, tool="sandbox_shell_view", aliases=("sandbox_view_shell",))
    async def view(self, request: ShellViewRequest) -> Reply[ShellViewResult]:
        """See what a session's terminal shows.

        With `Accept: text/event-stream`: a `screen` event, then the terminal's `output` as it comes, until the session is closed.
        """
        session = await self._sessions.get(request.id)
        output, hint = await screen_text(session, truncate=request.truncate)
        latest = session.latest
        result = ShellViewResult(
            output=output,
            session_id=session.id,
            status=session.status,
            console=[await _record(command) for command in session.commands.values()],
            command=latest.text if latest else None,
            exit_code=latest.exit_code if latest else None,
        )
        return Reply(result, hint=_join(hint, latest.hint if latest else None))

    @stream_of(view, events=TERMINAL_EVENTS)
    async def stream_view(self, request: ShellViewRequest, call: Call) -> AsyncIterator[Event]:
        """Give what a session's terminal shows, and what comes to it."""
        position = ShellPosition.parse(call.last_event_id) if call.last_event_id else None
        session = await self._sessions.get(position.session_id if position else request.id)
        return follow_terminal(session, position)

    @operation("POST /v1/shell/wait", scope="shell", read_only=True, tool="sandbox_shell_wait")
    async def wait_for_process(self, request: ShellWaitRequest) -> ShellWaitResult:
        """Wait until a session's command has ended; `running` says that it still had not."""
        session = await self._sessions.get(request.id)
        given = [seconds for seconds in (request.seconds, request.max_wait_seconds) if seconds is not None]
        await session.state.until(lambda: not session.state.busy, min(given, default=WAIT_SECONDS))
        return ShellWaitResult(status=session.status)

    @operation("POST /v1/shell/write", scope="shell", tool="sandbox_shell_write", acts="shell")
    async def write_to_process(self, request: ShellWriteToProcessRequest) -> ShellWriteResult:
        """Type into a session's terminal, whatever reads it: the answer to a prompt, keys for a full-screen program, Ctrl-C."""
        session = await self._sessions.get(request.id)
        keys = request.input.encode("utf-8", "surrogateescape")
        if len(keys) > MAX_INPUT:
            raise TooLarge(f"input is at most {MAX_INPUT} bytes", limit=MAX_INPUT)
        await session.type(keys + b"\r" if request.press_enter else keys)
        return ShellWriteResult(status=session.status)

    @operation("POST /v1/shell/kill", scope="shell", destructive=True, tool="sandbox_shell_kill", acts="shell")
    async def kill_process(self, request: ShellId) -> Reply[ShellKillResult]:
        """Stop what runs in a session: interrupt it, then terminate it, then kill it. The shell stays wherever that is possible."""
        session = await self._sessions.get(request.id)
        if not session.state.busy:
            code = session.latest.exit_code if session.latest else None
            return Reply(ShellKillResult(status=session.status, exit_code=code, returncode=code), hint="nothing was running")
        running = session.state.running
        await session.stop("terminated")
        return Reply(ShellKillResult(status=running.status if running else "terminated"), hint=running.hint if running else None)

    @operation("POST /v1/shell/sessions/create", scope="shell", acts="shell")
    async def create_session(self, request: ShellCreateSessionRequest) -> Reply[ShellCreateSessionResponse]:
        """Create a session, or give the one of that id."""
        profile = ShellProfile(request.id or str(uuid4()))
        if request.no_change_timeout is not None:
            profile.no_change_timeout = request.no_change_timeout
        start = self._start_in(request.exec_dir, preserve_symlinks=request.preserve_symlinks)
        session = await self._sessions.create(profile, start)
        return Reply(ShellCreateSessionResponse(session_id=session.id, working_dir=session.state.directory), hint=session.made_room)

    @operation("POST /v1/shell/sessions/update", scope="shell", acts="shell")
    async def update_session(self, request: ShellUpdateSessionRequest) -> None:
        """Change a session's settings."""
        session = await self._sessions.get(request.id)
        if request.no_change_timeout is not None:
            session.profile.no_change_timeout = request.no_change_timeout
            self._sessions.save()

    @operation("GET /v1/shell/terminal-url", scope="shell")
    async def get_terminal_url(self, call: Call) -> str:
        """Give the URL of a page that shows a new session.

        The session is made when the page is opened, or when a command is given for the id that the URL holds.
        """
        return f"{call.base_url}/terminal?session_id={self._sessions.promise()}"

    @operation("GET /v1/shell/sessions/stats", scope="shell")
    async def get_session_stats(self) -> ShellSessionStats:
        """Count the sessions of programs, and those that people opened at terminals, which have places of their own."""
        sessions, now = await self._sessions.all(), datetime.now(UTC)
        programs = [session for session in sessions if not session.profile.by_person]
        active = [session for session in programs if (now - session.last_used_at).total_seconds() <= ACTIVE_SECONDS]
        return ShellSessionStats(
            total_sessions=len(programs),
            active_sessions=len(active),
            idle_sessions=len(programs) - len(active),
            max_sessions=self._sessions.limit,
            session_timeout=int(self._sessions.evict_after),
            usage_ratio=len(programs) / self._sessions.limit,
            people_sessions=len(sessions) - len(programs),
            max_people_sessions=FOR_PEOPLE,
        )

    @operation("GET /v1/shell/sessions", scope="shell")
    async def list_sessions(self) -> ActiveShellSessionsResult:
        """List the sessions."""
        return ActiveShellSessionsResult(sessions={session.id: _state(session) for session in await self._sessions.all()})

    @operation("DELETE /v1/shell/sessions", scope="shell", destructive=True, acts="shell")
    async def cleanup_all_sessions(self) -> Reply[None]:
        """Close every session, with what runs in them."""
        sessions = await self._sessions.all()
        for session in sessions:
            await self._sessions.remove(session)
        return Reply(None, message=f"{len(sessions)} sessions closed")

    @operation("DELETE /v1/shell/sessions/{session_id}", scope="shell", destructive=True, acts="shell")
    async def cleanup_session(self, request: ShellSessionRef) -> None:
        """Close a session, with what runs in it."""
        await self._sessions.withdraw(request.session_id)

    @socket("/v1/shell/ws", scope="shell")
    async def terminal(self, request: TerminalRequest, socket: Socket, call: Call) -> None:
        """Show a session's terminal and type into it: JSON messages, `output` and `input` above all.

        With `session_id` the session is attached with what its screen shows and what has scrolled away above. A session that was
        opened this way and never used ends half a minute after its last terminal. The socket closes with 4404 where there is no
        session, 4429 where there is no room for a new one, and 4423 where a person keeps programs from opening one.
        """
        typist = ShellInput(call.caller, self._control)
        terminal = Terminal(socket, typist.may_type, typist.typed)
        try:
            session = await self._existing(request.session_id) or await self._opened_for(call.caller, request.session_id)
        except (NotFound, InvalidArgument, Unavailable) as failure:
            await terminal.refuse(failure.message)
            return
        except (ResourceExhausted, HeldByHuman) as failure:
            await terminal.refuse(_join(failure.message, failure.hint) or "", NO_ROOM if isinstance(failure, ResourceExhausted) else HELD)
            return
        typist.session = session
        session.people += call.caller.person
        try:
            with suppress(ConnectionError), self._control.watching(call.caller):
                await terminal.show(session)
        finally:
            session.people -= call.caller.person
            self._sessions.left(session)

    async def _opened_for(self, caller: Caller, session_id: str | None) -> ShellSession:
        """Open a session for a terminal: a person finds room beside all programs, a program opens none while a person has the shells."""
        if not caller.person and not self._control.drives(caller, "shell"):
            raise HeldByHuman("somebody else has control: no new session is opened", hint="open one that there is, to look at it")
        profile = ShellProfile(session_id or str(uuid4()), personal=True, by_person=caller.person)
        return await self._sessions.create(profile, self._start_in(None))

    async def _start(
        self, request: ShellExecRequest, *, fresh: bool = False
    ) -> tuple[ShellExecRequest, ShellSession, RunningCommand, str | None]:
        """Begin a command in the session that it names, in one that is idle, or in a `fresh` one.

        Gives the request with the time that it still has, and the sentence says what was made or closed for it.
        """
        start = self._start_in(request.exec_dir, preserve_symlinks=request.preserve_symlinks)
        began = time.monotonic()
        session, hint = await (self._named(request.id, start) if request.id else self._free(request, start, fresh=fresh))
        try:
            line = await self._line(request, session)
            given = ShellCommand(
                RunningCommand.new_token(), request.command, request.exec_dir or "", start.links, bool(request.strict), line
            )
            command = await session.run(given, request.hard_timeout or None)
        finally:
            session.release()
        return _less(request, 0 if request.id else time.monotonic() - began), session, command, hint

    async def _line(self, request: ShellExecRequest, session: ShellSession) -> str:
        if request.isolation is None:
            return ""
        return await self._fenced.line(request.command, request.isolation, request.exec_dir or session.state.directory)

    async def _free(self, request: ShellExecRequest, start: ShellStart, *, fresh: bool) -> tuple[ShellSession, str | None]:
        wait = WAIT_SECONDS if request.timeout is None else request.timeout
        if fresh:
            session = await self._sessions.fresh(start, wait)
            return session, session.made_room
        return await self._sessions.implicit(start, wait), None

    async def _named(self, session_id: str, start: ShellStart) -> tuple[ShellSession, str | None]:
        if existing := await self._existing(session_id):
            return existing, None
        session = await self._sessions.create(ShellProfile(session_id), start)
        return session, _join(f"there was no session {session_id!r}: it was created, in {session.state.directory}", session.made_room)

    async def _existing(self, session_id: str | None) -> ShellSession | None:
        return await self._sessions.find(session_id) if session_id else None

    def _start_in(self, directory: str | None, *, preserve_symlinks: bool | None = False) -> ShellStart:
        if directory and not directory.startswith("/"):
            raise InvalidArgument(f"exec_dir {directory!r} is not an absolute path", exec_dir=directory)
        return ShellStart(directory or self._workspace, "keep" if preserve_symlinks else "follow")


def _less(request: ShellExecRequest, waited: float) -> ShellExecRequest:
    """Take from the time that the caller waits what was spent until the command began."""
    if request.timeout is None or waited < NOTICED_SECONDS:
        return request
    return request.model_copy(update={"timeout": max(0.0, request.timeout - waited)})


def _silence(session: ShellSession, given: int | None) -> float:
    return session.profile.no_change_timeout if given is None else given


def _result(session: ShellSession, command: RunningCommand, status: BashCommandStatus, output: str | None = None) -> ShellCommandResult:
    console = [ConsoleRecord(ps1=command.ps1, command=command.text, output=output)] if output is not None else None
    return ShellCommandResult(
        session_id=session.id, command=command.text, status=status, output=output, console=console, exit_code=command.exit_code
    )


async def _record(command: RunningCommand) -> ConsoleRecord:
    return ConsoleRecord(ps1=command.ps1, command=command.text, output=await command.output())


def _state(session: ShellSession) -> ShellSessionState:
    running = session.state.running
    return ShellSessionState(
        working_dir=session.state.directory,
        created_at=session.profile.created_at,
        last_used_at=session.last_used_at,
        age_seconds=int((datetime.now(UTC) - session.profile.created_at).total_seconds()),
        status=session.status,
        current_command=running.text if running else None,
    )


def _join(*hints: str | None) -> str | None:
    return "; ".join(hint for hint in hints if hint) or None
