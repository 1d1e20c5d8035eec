"""Run commands in shell sessions: the operations and their models."""

import time
from collections.abc import AsyncIterator

from sandbox_server.core import Call, Event, Model, NotFound, Reply, operation, stream_of
from sandbox_server.core.caller_presence import CallerLeft, unless_left
from sandbox_server.core.hints import join_hints
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.shells.commands import ShellCommand
from sandbox_server.drivers.shells.isolated_shells import IsolatedShells
from sandbox_server.drivers.shells.risky_commands import is_risky
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.features.shell.command import BashCommandStatus, ConsoleRecord, RunningCommand
from sandbox_server.features.shell.durations import Seconds, WholeSeconds
from sandbox_server.features.shell.follow import EVENTS, ShellPosition, follow
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_profile import ShellProfile
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.start_directory import start_in

WAIT_SECONDS = 30
"""How long a command waits for a session, where the caller does not say."""
NOTICED_SECONDS = 1.0
"""What a command may wait for its session without that it counts."""
_STILL_RUNS = "the command still runs: wait for it, view it, write to it or kill it with its session id"


class ShellExecRequest(Model):
    command: str
    """Shell command to execute; it may have many lines."""
    id: str | None = None
    """Session to run it in. Without it an idle session is used, or one is made; an id that was never seen makes a session of that name."""
    exec_dir: str | None = None
    """Directory to change to first, absolute."""
    async_mode: bool = False
    """Answer as soon as the command has begun."""
    timeout: Seconds | None = None
    """Seconds to wait for the command; then the answer says `running`, and it goes on."""
    strict: bool | None = None
    """Refuse the command when exec_dir cannot be entered; otherwise it runs where the session is, and the hint says so."""
    no_change_timeout: WholeSeconds | None = None
    """Seconds without output after which the answer says `no_change_timeout`, and the command goes on; 0 is off. Default: the session's."""
    hard_timeout: Seconds | None = None
    """Seconds after which the command is stopped; 0 is off."""
    preserve_symlinks: bool | None = False
    """Keep symbolic links in exec_dir as they are; otherwise the directory is the one they lead to."""
    truncate: bool = True
    """Leave the middle out of an output of more than 30000 characters; the text says where and how much."""
    isolation: IsolationPolicy | None = None
    """What this command is kept from. It then runs in a shell of its own: `cd` and variables do not stay in the session."""


class ExecuteBashRequest(Model):
    cmd: str
    """Shell command to run; it may have many lines."""
    cwd: str | None = None
    """Directory to run it in, absolute. Default: where the last command left the shell."""
    new_session: bool = False
    """Use a new shell instead of the one of the last command."""
    timeout: Seconds = 30
    """Seconds to wait; a command that takes longer goes on, and the answer has the `session_id` to look at it."""
    truncate: bool = True
    """Leave the middle out of an output of more than 30000 characters."""
    run_in_background: bool = False
    """Answer as soon as the command has begun."""
    isolation: IsolationPolicy | None = None
    """What this command is kept from. It then runs in a shell of its own: `cd` and variables do not stay in the session."""


class ShellCommandResult(Model):
    session_id: str
    """Session it ran in."""
    command: str
    """The command."""
    status: BashCommandStatus
    """`completed` says that it exited; `terminated` that it was killed or that its shell ended."""
    output: str | None = None
    """What it wrote, so far, as plain text."""
    console: list[ConsoleRecord] | None = None
    """The same with its prompt."""
    exit_code: int | None = None
    """Exit code, where one was observed."""


class ShellCommands:
    """Shells of the agent, which a person sees and uses too."""

    tag = "shell"

    def __init__(self, sessions: ShellSessions, isolated: IsolatedShells, *, workspace: str) -> None:
        self._sessions = sessions
        self._isolated = isolated
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

    @stream_of(exec_command, events=EVENTS)
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
        destructive=True,
        aliases=("sandbox_exec_command",),
        risky=lambda request: is_risky(request.cmd),
        acts="shell",
    )
    async def execute_bash(self, request: ExecuteBashRequest, call: Call) -> Reply[ShellCommandResult]:
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
        given, session, command, hint = await self._start(given, fresh=request.new_session)
        try:
            return await unless_left(call, self._finish(given, session, command, hint))
        except CallerLeft:
            if session.state.running is command:
                await session.stop("terminated")
            raise

    async def _finish(
        self, request: ShellExecRequest, session: ShellSession, command: RunningCommand, hint: str | None
    ) -> Reply[ShellCommandResult]:
        if request.async_mode:
            return Reply(_result(session, command, "running"), hint=join_hints(hint, command.hint))
        status = await command.settle(request.timeout, _silence(session, request.no_change_timeout))
        output = await command.output(truncate=request.truncate)
        still = _STILL_RUNS if status in ("running", "no_change_timeout") else None
        return Reply(_result(session, command, status, output), hint=join_hints(hint, command.hint, still))

    async def _start(
        self, request: ShellExecRequest, *, fresh: bool = False
    ) -> tuple[ShellExecRequest, ShellSession, RunningCommand, str | None]:
        """Begin a command in the session that it names, in one that is idle, or in a `fresh` one.

        Gives the request with the time that it still has, and the sentence says what was made or closed for it.
        """
        start = start_in(self._workspace, request.exec_dir, preserve_symlinks=request.preserve_symlinks)
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
        return await self._isolated.line(request.command, request.isolation, request.exec_dir or session.state.directory)

    async def _free(self, request: ShellExecRequest, start: ShellStart, *, fresh: bool) -> tuple[ShellSession, str | None]:
        wait = WAIT_SECONDS if request.timeout is None else request.timeout
        if fresh:
            session = await self._sessions.fresh(start, wait)
            return session, session.made_room
        return await self._sessions.implicit(start, wait), None

    async def _named(self, session_id: str, start: ShellStart) -> tuple[ShellSession, str | None]:
        if existing := await self._sessions.find(session_id):
            return existing, None
        session = await self._sessions.create(ShellProfile(session_id), start)
        return session, join_hints(f"there was no session {session_id!r}: it was created, in {session.state.directory}", session.made_room)


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
