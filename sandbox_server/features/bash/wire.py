"""What goes over the wire for bash, by the contract's names."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.fence.policy import IsolationPolicy

type CommandStatus = Literal["pending", "running", "completed", "timed_out", "killed"]
type SessionStatus = Literal["ready", "closed"]

MAX_SECONDS = 366 * 86400.0

Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
Offset = Annotated[int, Field(ge=0)]
SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:@-]{0,128}$")]


class BashExecRequest(Model):
    """A command to run."""

    command: str
    """Shell command, as after `bash -c`. It runs in a process of its own: `cd` and `export` do not reach the next command."""
    session_id: str | None = None
    """Session to run in. Empty or absent: a new one."""
    exec_dir: str | None = None
    """Working directory, absolute. It becomes the session's own for later commands."""
    env: dict[str, str | None] | None = None
    """Environment variables for this command only; null takes one away."""
    async_mode: bool = False
    """Answer at once with status `running`; read the output with `output`."""
    timeout: Seconds | None = None
    """Seconds to wait for the end; then the answer is `running` and the command goes on. Only without `async_mode`."""
    hard_timeout: Seconds | None = None
    """Seconds after which the command and its process group are killed, with status `timed_out`."""
    max_output_length: int = Field(default=50000, ge=0)
    """Characters of each stream in the answer: the middle of a longer one is left out, with a marker. 0: no limit. Only without
    `async_mode`."""
    isolation: IsolationPolicy | None = None
    """What this command is kept from."""


class BashExecResult(Model):
    """How far a command has come."""

    session_id: str
    command_id: str
    command: str
    status: CommandStatus
    """`running`, `completed` (it exited, whatever its code), `timed_out` (killed after `hard_timeout`), `killed` (ended by a signal, or
    its end was not observed)."""
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    """The observed exit code; null while it runs and where a signal ended it."""
    signal: str | None = None
    """Name of the signal that ended it, as in `SIGKILL`."""
    offset: int = 0
    """Where `output` goes on reading stdout, in bytes."""
    stderr_offset: int = 0
    """Where `output` goes on reading stderr, in bytes."""


class BashCommandState(Model):
    """A command and its status."""

    command_id: str
    command: str
    status: CommandStatus
    exit_code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, as in `SIGKILL`."""


class BashOutputRequest(Model):
    """Which output to read, and from where."""

    session_id: str
    command_id: str | None = None
    """Command to read. Absent: the output of all commands of the session, one after the other."""
    offset: Offset = 0
    """Byte of stdout to start at: the `offset` of the answer before."""
    stderr_offset: Offset = 0
    """Byte of stderr to start at: the `stderr_offset` of the answer before."""
    wait: bool = False
    """Wait until there is output or the command has ended."""
    wait_timeout: Seconds = 30
    """Seconds to wait at most."""


class BashOutputResult(Model):
    """New output, and where the next call goes on."""

    session_id: str
    stdout: str = ""
    stderr: str = ""
    offset: int = 0
    stderr_offset: int = 0
    command: BashCommandState | None = None
    """The command that was asked for, else the current or latest one."""


class BashWriteRequest(Model):
    """Input for a command."""

    session_id: str
    input: str
    """Text for its standard input, as it is: end a line with a line feed."""
    command_id: str | None = None
    """Command to write to. Absent: the one that runs."""
    eof: bool = False
    """Close the input after this text."""


class BashKillRequest(Model):
    """A signal for a command."""

    session_id: str
    signal: Literal["SIGTERM", "SIGKILL", "SIGINT"] = "SIGTERM"


class BashSessionCreateRequest(Model):
    """A session to create."""

    session_id: SessionId | None = None
    """Its id. Empty or absent: a new one. An id that exists gives that session as it is."""
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
