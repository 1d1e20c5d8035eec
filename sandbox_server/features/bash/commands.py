"""The operations on bash sessions."""

import asyncio
import signal
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Literal, Self
from uuid import uuid4

from pydantic import Field

from sandbox_server.core import (
    Call,
    Conflict,
    Event,
    InvalidArgument,
    Model,
    NotFound,
    PermissionDenied,
    Reply,
    Tasks,
    operation,
    stream_of,
)
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.shells.risky_commands import is_risky
from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.bash.command import BashCommand, OutputLimit
from sandbox_server.features.bash.follow import EVENTS, BashPosition, follow
from sandbox_server.features.bash.output import BashOutputRequest, BashOutputResult, DecodedOutput, Seconds, excerpt
from sandbox_server.features.bash.session import (
    BashExecResult,
    BashSession,
    BashSessionCreateRequest,
    BashSessionRef,
    BashSessions,
    BashSessionState,
)
from sandbox_server.timeouts import scaled


class BashExecRequest(Model):
    """A command to run."""

    command: str
    """Shell command, as after `bash -c`. It runs in a process of its own: `cd` and `export` do not affect the next command."""
    session_id: str | None = None
    """Session to run in. Empty or absent: a new one."""
    exec_dir: str | None = None
    """Working directory, absolute. It also becomes the session's own."""
    env: dict[str, str | None] | None = None
    """Environment variables for this command only; null removes one."""
    async_mode: bool = False
    """Answer at once with status `running`. Read the output with `output`."""
    timeout: Seconds | None = None
    """Seconds to wait for the end. Then the answer is `running` and the command continues. Only without `async_mode`."""
    hard_timeout: Seconds | None = None
    """Seconds after which the command and its process group are killed, with status `timed_out`."""
    max_output_length: int = Field(default=50000, ge=0)
    """Characters of each stream in the answer. The middle of a longer stream is replaced by a marker. 0: no limit. Only
    without `async_mode`.
    """
    isolation: IsolationPolicy | None = None
    """The restrictions of this command."""


class BashWriteRequest(Model):
    """Input for a command."""

    session_id: str
    input: str
    """Text for its standard input, unchanged: end a line with a line feed."""
    command_id: str | None = None
    """Command to write to. Absent: the running one."""
    eof: bool = False
    """Close the input after this text."""


class BashKillRequest(Model):
    """A signal for a command."""

    session_id: str
    signal: Literal["SIGTERM", "SIGKILL", "SIGINT"] = "SIGTERM"


SIGNAL_GRACE = 1.0
"""Seconds that `kill` waits for the command to end."""
CLOSE_GRACE = 5.0
"""Seconds that a killed command may take to end when its session is closed."""
KEPT_STREAMS = 4
"""Number of streams of the largest size that all finished commands may store together."""
PROBE_SECONDS = scaled(10.0)


class Bash:
    """Runs commands of the agent in sessions; an asynchronous context manager, which ends them all."""

    tag = "bash"

    def __init__(self, processes: Processes, *, workspace: str, max_sessions: int, output_bytes: int, spool: str) -> None:
        self._processes = processes
        self._workspace = workspace
        self._kept = OutputLimit(output_bytes, spool)
        self._sessions = BashSessions(max_sessions)
        self._tasks = Tasks()
        self._commands: weakref.WeakSet[BashCommand] = weakref.WeakSet()

    @property
    def busy(self) -> bool:
        """Whether a command runs."""
        return any(session.running for session in self._sessions)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.gather(*(self._close(session) for session in self._sessions))
        await self._tasks.close()
        for command in list(self._commands):
            command.close()

    @operation("POST /v1/bash/exec", scope="shell", operation_id="exec", risky=lambda request: is_risky(request.command), acts="shell")
    async def exec_command(self, request: BashExecRequest) -> Reply[BashExecResult]:
        """Run a command.

        Without a `timeout` the answer comes when the command has ended. Status `completed` means that it exited: see
        `exit_code`. While the status is `running`, continue with `output` and this answer's `session_id`, `command_id`,
        `offset` and `stderr_offset`.

        With `Accept: text/event-stream` the output is streamed: `output` events with `stream`, `data`, `offset` and
        `seq`, then `exit`. To resume, send the same request with the last event's id as `Last-Event-ID`: the command is
        not run again.
        """
        session, command = await self._start(request)
        if request.async_mode:
            return Reply(session.result(command, command.state(), DecodedOutput("", 0), DecodedOutput("", 0)))
        with command.held():
            await command.wait(request.timeout)
            state, ended, most = command.state(), command.ended, request.max_output_length
            stdout = await excerpt(command.stdout.spool, most, ended=ended)
            stderr = await excerpt(command.stderr.spool, most, ended=ended)
        more = stdout.end < command.stdout.spool.size or stderr.end < command.stderr.spool.size
        return Reply(session.result(command, state, stdout, stderr), hint=_hint(command, more=more and ended))

    @stream_of(exec_command, events=EVENTS)
    async def stream_exec(self, request: BashExecRequest, call: Call) -> AsyncIterator[Event]:
        """Run a command and stream its output as events, or resume after `Last-Event-ID`."""
        if call.last_event_id:
            return self._resume(BashPosition.parse(call.last_event_id), None)
        session, command = await self._start(request)
        position = BashPosition(session.id, command.id, command.stdout.base, command.stderr.base)
        return _held(command, follow(command, position, 0 if request.async_mode else request.timeout))

    @operation("POST /v1/bash/output", scope="shell", read_only=True)
    async def output(self, request: BashOutputRequest) -> Reply[BashOutputResult]:
        """Read output from given offsets on, or wait for it.

        Begin with the offsets from `exec`, or 0, and continue with those of each answer until `command.status` is not
        `running`.

        With `Accept: text/event-stream` the command's output is streamed, as with `exec`, until it has ended;
        `Last-Event-ID` takes precedence over the offsets.
        """
        session = self._sessions.get(request.session_id)
        session.touch()
        command = session.command(request.command_id)
        if command is None:
            return Reply(BashOutputResult(session_id=session.id))
        with command.held():
            result = await self._new_output(session, command, request)
        more = result.offset < command.stdout.end or result.stderr_offset < command.stderr.end
        return Reply(result, hint=_hint(command, more=more and command.ended))

    @stream_of(output, events=EVENTS)
    async def stream_output(self, request: BashOutputRequest, call: Call) -> AsyncIterator[Event]:
        """Stream the output of a command until it has ended."""
        if call.last_event_id:
            return self._resume(BashPosition.parse(call.last_event_id), None)
        session = self._sessions.get(request.session_id)
        command = session.command(request.command_id)
        if command is None:
            raise Conflict(f"session {session.id!r} has run no command yet", session_id=session.id)
        return self._resume(BashPosition(session.id, command.id, request.offset, request.stderr_offset), None)

    @operation("POST /v1/bash/write", scope="shell", acts="shell")
    async def write(self, request: BashWriteRequest) -> None:
        """Write to the standard input of the running command.

        The text is accepted whole or refused: 409 if no process reads it any more, 429 while a command does not read
        its earlier input.
        """
        session = self._sessions.get(request.session_id)
        session.touch()
        command = session.command(request.command_id)
        if command is None or command.ended:
            raise Conflict(f"no command is running in session {session.id!r}", session_id=session.id)
        try:
            command.stdin.feed(request.input.encode("utf-8", "surrogateescape"))
        except BrokenPipeError:
            raise Conflict(f"command {command.id!r} has closed its input", command_id=command.id) from None
        if request.eof:
            command.stdin.end()

    @operation("POST /v1/bash/kill", scope="shell", destructive=True, acts="shell")
    async def kill(self, request: BashKillRequest) -> Reply[None]:
        """Send a signal to the process group of the running command.

        Waits up to a second for its end. A command may catch the signal, so check its status with `output`.
        """
        session = self._sessions.get(request.session_id)
        session.touch()
        if (command := session.running) is None:
            return Reply(None, message="No command is running: nothing was signalled")
        await command.kill(signal.Signals[request.signal])
        await command.wait(SIGNAL_GRACE)
        return Reply(None, message=f"{request.signal} sent; the command is {command.status}")

    @operation("GET /v1/bash/sessions", scope="shell")
    async def sessions(self) -> list[BashSessionState]:
        """List the sessions."""
        return [session.state() for session in self._sessions]

    @operation("POST /v1/bash/sessions/create", scope="shell", acts="shell")
    async def create_session(self, request: BashSessionCreateRequest) -> BashSessionState:
        """Create a session.

        It stays until it is closed. Sessions that `exec` created implicitly are evicted at the limit.
        """
        session_id = request.session_id or str(uuid4())
        if session_id not in self._sessions:
            await self._probe(request)
        if session_id not in self._sessions:
            working_dir = request.exec_dir or self._workspace
            self._sessions.add(BashSession(session_id, working_dir, snapshot_path=request.snapshot_path))
        return self._sessions.get(session_id).state()

    @operation("POST /v1/bash/sessions/{session_id}/close", scope="shell", destructive=True, acts="shell")
    async def close_session(self, request: BashSessionRef) -> None:
        """Close a session: its running command is killed and its output dropped. Background processes continue."""
        await self._close(self._sessions.get(request.session_id))

    async def _start(self, request: BashExecRequest) -> tuple[BashSession, BashCommand]:
        _require_absolute("exec_dir", request.exec_dir)
        session = self._session_for(request)
        cwd = request.exec_dir or session.working_dir
        command = session.add(request.command, self._kept)
        self._commands.add(command)
        try:
            with _directory_as_argument():
                env = (request.env or {}) | {SESSION: f"bash:{session.id}"}
                await command.start(self._processes, session.argv(request.command), cwd, env, request.isolation)
        except BaseException:
            session.withdraw(command)
            if session.temporary and not session.commands:
                self._sessions.remove(session)
            raise
        session.working_dir = cwd
        self._tasks.start(self._watch(session, command, request.hard_timeout), name=f"bash command {command.id}")
        return session, command

    def _session_for(self, request: BashExecRequest) -> BashSession:
        if request.session_id:
            return self._sessions.get(request.session_id)
        session = BashSession(str(uuid4()), self._workspace, temporary=True)
        self._sessions.add(session)
        return session

    async def _watch(self, session: BashSession, command: BashCommand, hard_timeout: float | None) -> None:
        await command.watch(hard_timeout)
        session.touch()
        self._make_room()

    def _make_room(self) -> None:
        """Drop the oldest outputs while finished commands store too much together."""
        ended = [(command, session) for session in self._sessions for command in session.commands.values() if command.ended]
        excess = sum(command.kept for command, _ in ended) - KEPT_STREAMS * self._kept.limit
        for command, session in sorted(ended, key=lambda pair: pair[0].ended_at):
            if excess <= 0:
                return
            excess -= command.kept
            session.forget(command.id)

    async def _new_output(self, session: BashSession, command: BashCommand, request: BashOutputRequest) -> BashOutputResult:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.wait_timeout
        while True:
            change, state, ended = command.change(), command.state(), command.ended  # before reading: an ended one is read whole
            stdout = await session.read("stdout", request.offset, request.command_id)
            stderr = await session.read("stderr", request.stderr_offset, request.command_id)
            remaining = deadline - loop.time()
            if stdout.text or stderr.text or ended or not request.wait or remaining <= 0:
                break
            await asyncio.wait([change], timeout=remaining)
        return BashOutputResult(
            session_id=session.id,
            stdout=stdout.text,
            stderr=stderr.text,
            offset=stdout.end,
            stderr_offset=stderr.end,
            command=state,
        )

    def _resume(self, position: BashPosition, timeout: float | None) -> AsyncIterator[Event]:
        command = self._sessions.get(position.session_id).command(position.command_id)
        assert command
        return _held(command, follow(command, position, timeout))

    async def _probe(self, request: BashSessionCreateRequest) -> None:
        """Check a new session's paths with the agent's rights. Raises InvalidArgument."""
        _require_absolute("exec_dir", request.exec_dir)
        _require_absolute("snapshot_path", request.snapshot_path)
        if not request.exec_dir and not request.snapshot_path:
            return
        argv = ["test", "-r", request.snapshot_path] if request.snapshot_path else ["true"]
        with _directory_as_argument():
            found = await self._processes.run(argv, cwd=request.exec_dir, timeout=PROBE_SECONDS, max_output=0)
        if found.exit.code != 0:
            raise InvalidArgument(f"snapshot_path {request.snapshot_path!r} cannot be read", snapshot_path=request.snapshot_path)

    async def _close(self, session: BashSession) -> None:
        self._sessions.remove(session)
        if running := session.running:
            await running.kill(signal.SIGKILL)
            await running.wait(CLOSE_GRACE)
        session.drop()


async def _held(command: BashCommand, events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    with command.held():
        async for event in events:
            yield event


def _hint(command: BashCommand, *, more: bool) -> str | None:
    if command.exit and command.exit.lost:
        return "how the command ended was not observed, because the process supervisor went away; it may still run"
    if more:
        return "there is more output: read it with /v1/bash/output from these offsets on"
    if command.signal and command.status == "killed":
        return f"the command was ended by {command.signal}"
    return None


def _require_absolute(name: str, path: str | None) -> None:
    if path and not path.startswith("/"):
        raise InvalidArgument(f"{name} {path!r} is not an absolute path", field=name)


@contextmanager
def _directory_as_argument() -> Iterator[None]:
    """Turn a missing working directory into InvalidArgument: a 404 would mean a missing session."""
    try:
        yield
    except (NotFound, PermissionDenied) as error:
        if error.details.get("subject") != "cwd":
            raise
        raise InvalidArgument(error.message, hint="give an exec_dir that exists and that the agent may enter") from error
