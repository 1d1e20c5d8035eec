"""Bash sessions: a working directory, a script to source, and a sequence of commands."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Model, NotFound
from sandbox_server.drivers.session_table import SessionLimit, SessionTable
from sandbox_server.features.bash.command import BashCommand, BashCommandState, CommandStatus, OutputLimit, StreamName
from sandbox_server.features.bash.output import DecodedOutput, SpoolPart, read_parts, read_text

type SessionStatus = Literal["ready", "closed"]


SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:@-]{0,128}$")]


class BashExecResult(Model):
    """The state of a command."""

    session_id: str
    command_id: str
    command: str
    status: CommandStatus
    """`running`, `completed` (it exited, whatever its code), `timed_out` (killed after `hard_timeout`), `killed` (ended
    by a signal, or its end was not observed).
    """
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    """The observed exit code; null while it runs or after a signal."""
    signal: str | None = None
    """Name of the signal that ended it, such as `SIGKILL`."""
    offset: int = 0
    """Offset in bytes at which `output` continues with stdout."""
    stderr_offset: int = 0
    """Offset in bytes at which `output` continues with stderr."""


class BashSessionCreateRequest(Model):
    """A session to create."""

    session_id: SessionId | None = None
    """Its id. Empty or absent: a new one. An existing session is returned unchanged."""
    exec_dir: str | None = None
    """Working directory, absolute. Absent: the workspace."""
    snapshot_path: str | None = None
    """Script that every command of the session sources first."""


class BashSessionState(Model):
    """One session."""

    session_id: str
    status: SessionStatus
    working_dir: str
    created_at: datetime
    last_used_at: datetime
    current_command: str | None = None
    command_count: int = 0


class BashSessionRef(Model):
    """A session by its id."""

    session_id: str


MAX_COMMANDS = 16
"""Limit of stored commands per session."""
MAX_WORD = 120_000
"""Limit in bytes of one argument; the kernel's is 128 KiB."""

_JOIN = """
unset _sandbox_script _sandbox_word
for _sandbox_word do _sandbox_script+=$_sandbox_word; done
set --
eval "unset _sandbox_script _sandbox_word
$_sandbox_script"
"""


class BashSession:
    """One session. A `temporary` one was created implicitly, and is evicted at the limit."""

    def __init__(self, session_id: str, working_dir: str, *, snapshot_path: str | None = None, temporary: bool = False) -> None:
        self.id = session_id
        self.working_dir = working_dir
        self.snapshot_path = snapshot_path
        self.temporary = temporary
        self.status: SessionStatus = "ready"
        self.created_at = self.last_used_at = datetime.now(UTC)
        self.commands: dict[str, BashCommand] = {}
        self.command_count = 0
        self._ends = (0, 0)

    @property
    def latest(self) -> BashCommand | None:
        """The running command, or the last one."""
        return next(reversed(self.commands.values()), None)

    @property
    def running(self) -> BashCommand | None:
        """The command that is starting or running."""
        return self.latest if self.latest and not self.latest.ended else None

    def state(self) -> BashSessionState:
        """Describe the session as it is now."""
        return BashSessionState(
            session_id=self.id,
            status=self.status,
            working_dir=self.working_dir,
            created_at=self.created_at,
            last_used_at=self.last_used_at,
            current_command=self.running.text if self.running else None,
            command_count=self.command_count,
        )

    def result(self, command: BashCommand, state: BashCommandState, stdout: DecodedOutput, stderr: DecodedOutput) -> BashExecResult:
        """Describe a command by the state from before its output was read: if it had ended, the output is complete."""
        return BashExecResult(
            session_id=self.id,
            **state.model_dump(),
            stdout=stdout.text,
            stderr=stderr.text,
            offset=command.stdout.base + stdout.end,
            stderr_offset=command.stderr.base + stderr.end,
        )

    def touch(self) -> None:
        """Note that the session is in use."""
        self.last_used_at = datetime.now(UTC)

    def command(self, command_id: str | None) -> BashCommand | None:
        """Return a command by id, or the latest; raises NotFound if it is not stored."""
        if not command_id:
            return self.latest
        if command_id not in self.commands:
            raise NotFound("Command not found", command_id=command_id, hint=f"a session keeps its last {MAX_COMMANDS} commands")
        return self.commands[command_id]

    def add(self, text: str, kept: OutputLimit) -> BashCommand:
        """Make the next command, whose output begins where the last one's ends. Raises Conflict while one runs."""
        if self.status == "closed":
            raise NotFound("Session not found", session_id=self.id)
        if running := self.running:
            raise Conflict(
                f"session {self.id!r} is running command {running.id!r}: {running.text[:200]}",
                session_id=self.id,
                command_id=running.id,
                hint="wait for it with /v1/bash/output, end it with /v1/bash/kill, or use another session",
            )
        if self.latest:
            self._ends = self.latest.stdout.end, self.latest.stderr.end
        command = BashCommand(text, self._ends, kept)
        self.commands[command.id] = command
        self.command_count += 1
        self.touch()
        while len(self.commands) > MAX_COMMANDS:
            self.forget(next(iter(self.commands)))
        return command

    def withdraw(self, command: BashCommand) -> None:
        """Remove a command that could not start."""
        del self.commands[command.id]
        self.command_count -= 1

    def drop(self) -> None:
        """Drop the output of every command."""
        for command in self.commands.values():
            command.drop()

    def forget(self, command_id: str) -> None:
        """Drop a finished command and its output."""
        command = self.commands.pop(command_id)
        self._ends = max(self._ends[0], command.stdout.end), max(self._ends[1], command.stderr.end)
        command.drop()

    async def read(self, name: StreamName, offset: int, command_id: str | None) -> DecodedOutput:
        """Read one stream from byte `offset` of the session's output, of one command or of all."""
        command = self.command(command_id)
        if not command_id or command is None:
            return await read_parts(self._parts(name), offset)
        stream = command.stream(name)
        new = await read_text(stream.spool, max(0, offset - stream.base), ended=command.ended)
        return new.moved(stream.base)

    def _parts(self, name: StreamName) -> list[SpoolPart]:
        streams = [command.stream(name) for command in self.commands.values()]
        stops = [*(stream.base for stream in streams[1:]), None]
        ended = not self.running
        return [SpoolPart(stream.spool, stream.base, stop, ended or stop is not None) for stream, stop in zip(streams, stops, strict=True)]

    def argv(self, text: str) -> list[str]:
        """Return a command's argv: a bash that reads no start-up file but the session's script."""
        script = f"source {shlex.quote(self.snapshot_path)}\n{text}" if self.snapshot_path else text
        encoded = script.encode("utf-8", "surrogateescape")
        if len(encoded) <= MAX_WORD:
            return ["bash", "-c", "--", script]
        step = MAX_WORD // 4  # characters, of four bytes at most
        words = [script[start : start + step] for start in range(0, len(script), step)]
        return ["bash", "-c", _JOIN, "bash", *words]


class BashSessions:
    """The bash sessions, at most `limit` at once. An idle temporary one is evicted for a new one."""

    def __init__(self, limit: int) -> None:
        message, hint = f"all {limit} bash sessions are in use", "close one, or reuse one by its session_id"
        self._table = SessionTable(SessionLimit[BashSession](limit, message, hint, _idle_longest))

    def __iter__(self) -> Iterator[BashSession]:
        return iter(self._table)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._table

    def get(self, session_id: str) -> BashSession:
        """Return the session of an id; raises NotFound with the contract's message."""
        return self._table.get(session_id)

    def add(self, session: BashSession) -> None:
        """Add a session. At the limit it evicts the temporary session that has been idle longest.

        Raises ResourceExhausted if every session is busy or was created by name.
        """
        while evicted := self._table.evicted_for(session):
            self.remove(evicted)
            evicted.drop()
        self._table.add(session)

    def remove(self, session: BashSession) -> None:
        """Remove a session. The caller ends what still runs in it, and drops its output."""
        session.status = "closed"
        self._table.remove(session)


def _idle_longest(sessions: Sequence[BashSession]) -> BashSession | None:
    idle = [session for session in sessions if session.temporary and not session.running]
    return min(idle, key=lambda session: session.last_used_at, default=None)
