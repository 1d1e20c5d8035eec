"""What runs in a shell session: see it, wait for it, type into it, stop it."""

from collections.abc import AsyncIterator

from sandbox_server.core import Call, Event, Model, Reply, TooLarge, operation, stream_of
from sandbox_server.core.hints import join_hints
from sandbox_server.features.shell.command import BashCommandStatus, ConsoleRecord, RunningCommand
from sandbox_server.features.shell.durations import WholeSeconds
from sandbox_server.features.shell.follow import ShellPosition
from sandbox_server.features.shell.session_profile import ShellId
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.view import EVENTS, ShellTerminalState, follow_terminal, screen_and_state

WAIT_SECONDS = 30
"""How long `wait` waits, where the caller does not say."""
MAX_INPUT = 64 << 10
"""Bytes that are typed at once."""


class ShellViewRequest(ShellId):
    truncate: bool = True
    """Leave the middle out of a text of more than 30000 characters."""


class ShellViewResult(Model):
    output: str
    """What the terminal shows, with what has scrolled away above; of a full-screen program, its screen."""
    session_id: str
    """The session."""
    status: BashCommandStatus
    """Of what runs now, or of what ran last."""
    console: list[ConsoleRecord] | None = None
    """The session's last commands."""
    command: str | None = None
    """The command that runs, or the last that ran."""
    exit_code: int | None = None
    """Its exit code, where one was observed."""
    terminal: ShellTerminalState | None = None
    """Its size, its cursor, and what waits for input; null when the terminal is gone."""


class ShellWaitRequest(ShellId):
    seconds: WholeSeconds | None = None
    """Seconds to wait at most. Default: 30."""
    max_wait_seconds: WholeSeconds | None = None
    """The same; the smaller one counts."""


class ShellWaitResult(Model):
    status: BashCommandStatus
    """Of what runs now, or of what ran last."""


class ShellWriteToProcessRequest(ShellId):
    input: str
    """Text to type, as it is; `\\u0003` is Ctrl-C."""
    press_enter: bool
    """Press Enter after it."""


class ShellWriteResult(Model):
    status: BashCommandStatus
    """Of what runs now, or of what ran last."""


class ShellKillResult(Model):
    status: BashCommandStatus
    """Of what was killed, or of what ran last."""
    exit_code: int | None = None
    """Exit code of the last command when none was running; null when one had to be killed."""
    returncode: int | None = None
    """The same, under its old name."""


class ShellProcesses:
    """The program in a session's terminal."""

    tag = "shell"

    def __init__(self, sessions: ShellSessions) -> None:
        self._sessions = sessions

    @operation("POST /v1/shell/view", scope="shell", read_only=True, tool="sandbox_shell_view", aliases=("sandbox_view_shell",))
    async def view(self, request: ShellViewRequest) -> Reply[ShellViewResult]:
        """See what a session's terminal shows.

        With `Accept: text/event-stream`: a `screen` event, then the terminal's `output` as it comes, until the session is closed.
        """
        session = await self._sessions.get(request.id)
        output, hint, terminal = await screen_and_state(session, truncate=request.truncate)
        latest = session.latest
        result = ShellViewResult(
            output=output,
            session_id=session.id,
            status=session.status,
            console=[await _record(command) for command in session.commands.values()],
            command=latest.text if latest else None,
            exit_code=latest.exit_code if latest else None,
            terminal=terminal,
        )
        return Reply(result, hint=join_hints(hint, latest.hint if latest else None))

    @stream_of(view, events=EVENTS)
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

    @operation("POST /v1/shell/write", scope="shell", tool="sandbox_shell_write", destructive=True, acts="shell")
    async def write_to_process(self, request: ShellWriteToProcessRequest) -> ShellWriteResult:
        """Type into a session's terminal, whatever reads it: the answer to a prompt, keys for a full-screen program, Ctrl-C."""
        session = await self._sessions.get(request.id)
        keys = request.input.encode("utf-8", "surrogateescape")
        if len(keys) > MAX_INPUT:
            raise TooLarge(f"input is at most {MAX_INPUT} bytes", limit=MAX_INPUT)
        await session.type(keys + b"\r" if request.press_enter else keys)
        session.state.note_input(by_person=False)
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


async def _record(command: RunningCommand) -> ConsoleRecord:
    return ConsoleRecord(ps1=command.ps1, command=command.text, output=await command.output())
