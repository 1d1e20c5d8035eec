"""Requests and results of the shell operations, as the contract has them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.features.shell.command import BashCommandStatus

MAX_SECONDS = 366 * 86400

Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS)]
WholeSeconds = Annotated[int, Field(ge=0, le=MAX_SECONDS)]


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


class ShellSessionRef(Model):
    session_id: str
    """Session to act on."""


class ShellId(Model):
    id: str
    """Session to act on."""


class ShellViewRequest(ShellId):
    truncate: bool = True
    """Leave the middle out of a text of more than 30000 characters."""


class ShellWaitRequest(ShellId):
    seconds: WholeSeconds | None = None
    """Seconds to wait at most. Default: 30."""
    max_wait_seconds: WholeSeconds | None = None
    """The same; the smaller one counts."""


class ShellWriteToProcessRequest(ShellId):
    input: str
    """Text to type, as it is; `\\u0003` is Ctrl-C."""
    press_enter: bool
    """Press Enter after it."""


class ShellCreateSessionRequest(Model):
    id: str | None = None
    """Name of the session; an existing one is returned as it is. Default: made up."""
    exec_dir: str | None = None
    """Working directory, absolute. Default: the workspace."""
    no_change_timeout: WholeSeconds | None = None
    """Seconds without output after which an exec in this session answers `no_change_timeout`; 0 is off. Default: 120."""
    preserve_symlinks: bool | None = False
    """Keep symbolic links in exec_dir as they are."""


class ShellUpdateSessionRequest(ShellId):
    no_change_timeout: WholeSeconds | None = None
    """New value in seconds; 0 is off."""


class ConsoleRecord(Model):
    ps1: str
    """Prompt at which the command was given."""
    command: str
    """The command."""
    output: str = ""
    """What it wrote, at most 30000 characters."""


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


class ShellCommandProgress(Model):
    """A command's status, and up to where its output was given."""

    session_id: str
    command: str
    status: BashCommandStatus
    exit_code: int | None
    """Exit code, where one was observed."""
    hint: str | None
    offset: int
    """Bytes of output up to here."""
    seq: int
    """The same."""


class ShellOutputPiece(Model):
    """A piece of what a command, or the terminal, wrote, as plain text."""

    output: str
    offset: int
    """Bytes of output up to here."""
    seq: int
    """The same."""


class ShellGap(Model):
    """Bytes that are not kept any more."""

    start: int = Field(serialization_alias="from", description="Offset of the first.")
    end: int = Field(serialization_alias="to", description="Offset behind the last.")
    size: int = Field(serialization_alias="bytes", description="How many there are.")


class ShellScreen(Model):
    """What the terminal shows."""

    session_id: str
    output: str
    """What the terminal shows, with what has scrolled away above; of a full-screen program, its screen."""
    status: BashCommandStatus
    """Of what runs now, or of what ran last."""
    hint: str | None
    offset: int
    """Bytes of output up to here."""
    seq: int
    """The same."""


class ShellClosed(Model):
    """The session is closed."""

    session_id: str
    status: BashCommandStatus
    """Of what ran last."""


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


class ShellWaitResult(Model):
    status: BashCommandStatus
    """Of what runs now, or of what ran last."""


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


class ShellCreateSessionResponse(Model):
    session_id: str
    """The session."""
    working_dir: str
    """Its working directory."""


class ShellSessionState(Model):
    working_dir: str
    """Working directory after the last command."""
    created_at: datetime
    """When it was created."""
    last_used_at: datetime
    """When it was last used."""
    age_seconds: int
    """Seconds since it was created."""
    status: str
    """`running`, or how the last command ended."""
    current_command: str | None = None
    """The command that runs."""


class ActiveShellSessionsResult(Model):
    sessions: dict[str, ShellSessionState]
    """Sessions by id."""


class ShellSessionStats(Model):
    total_sessions: int
    """Sessions that programs have."""
    active_sessions: int
    """Of them, those used in the last 5 minutes."""
    idle_sessions: int
    """The others."""
    max_sessions: int
    """Sessions that programs may have."""
    session_timeout: int
    """Seconds of idleness after which a session may be closed to make room; 0 is never."""
    usage_ratio: float
    """Part of max_sessions that is used, 0.0 to 1.0."""
    people_sessions: int
    """Sessions that people opened at terminals."""
    max_people_sessions: int
    """Sessions that people may have open, beside those of programs."""


class TerminalRequest(Model):
    session_id: str | None = None
    """Session to show; it is made where there never was one of that id. Default: a new one."""
