"""What goes over the wire for Jupyter, by the contract's names."""

from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.fence.policy import IsolationPolicy

type ExecutionStatus = Literal["running", "ok", "error", "timeout"]

Timeout = Annotated[int, Field(ge=1, le=300)]
DEFAULT_TIMEOUT = 30


class JupyterExecuteRequest(Model):
    """Code to run."""

    code: str
    """Python code, as in a notebook's cell: the value of a last expression is an output."""
    timeout: Timeout | None = DEFAULT_TIMEOUT
    """Seconds after which it is interrupted. Code that does not react to that loses its kernel, and its variables."""
    kernel_name: str | None = None
    """Kernel to run it in, as `info` lists them. Absent: the default."""
    session_id: str | None = None
    """Session whose variables it sees and keeps; made when there is none of that id. Absent: a session that no caller has named and that is
    idle, else a new one; the answer says which."""
    cwd: str | None = None
    """Working directory, absolute; the session stays there. Absent: where the session is, at first the workspace."""
    isolation: IsolationPolicy | None = None
    """What it is kept from. It holds for a session as long as that lives, from its first code on; absent later: the session's own."""


class JupyterOutput(Model):
    """One output."""

    output_type: Literal["stream", "execute_result", "display_data", "error", "update_display_data", "clear_output"]
    """The last two come in a stream of events only."""
    name: str | None = None
    """`stdout` or `stderr`, of a stream."""
    text: str | None = None
    """What was written, of a stream."""
    data: dict[str, Any] | None = None
    """What is shown, by media type: text as it is, pictures in base64, JSON as JSON."""
    metadata: dict[str, Any] | None = None
    execution_count: int | None = None
    ename: str | None = None
    """Class of the exception."""
    evalue: str | None = None
    """Text of the exception."""
    traceback: list[str] | None = None


class JupyterExecuteResponse(Model):
    """What became of it."""

    kernel_name: str
    session_id: str | None = None
    status: ExecutionStatus
    """`ok`, `error` (an exception, or the kernel ended), `timeout` (it was interrupted)."""
    execution_count: int | None = None
    outputs: list[JupyterOutput]
    """In order, with neighbouring pieces of a stream joined."""
    code: str
    msg_id: str | None = None
    """Id of this execution."""
    exit_code: int | None = None
    """0, 1 after an exception, the code of a `sys.exit`; of a kernel that ended, its own. Null after a timeout or a signal."""
    dropped_bytes: int = 0
    """Bytes of output over the limit, of which nothing is kept."""


class JupyterInfoResponse(Model):
    """Kernels and sessions."""

    default_kernel: str
    available_kernels: list[str]
    """Those that can be started here."""
    active_sessions: int
    session_timeout_seconds: int
    """Seconds without use after which a session is closed."""
    max_sessions: int
    description: str
    kernel_detection: str


class KernelSession(Model):
    """One session."""

    kernel_name: str
    last_used: float
    """Seconds since the epoch."""
    age_seconds: int
    """Seconds since it was used last."""
    state: Literal["idle", "busy"] = "idle"


class ActiveSessionsResult(Model):
    """All sessions."""

    sessions: dict[str, KernelSession]
    """By id."""


class JupyterSessionRef(Model):
    """A session by its id."""

    session_id: str


class JupyterCreateSessionRequest(Model):
    """A session to create."""

    session_id: str | None = None
    """Its id. Empty or absent: a new one. An id that exists gives that session."""
    kernel_name: str | None = None
    """Kernel, as `info` lists them. Absent: the default."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the workspace."""
    isolation: IsolationPolicy | None = None
    """What its code is kept from, as long as the session lives."""


class JupyterCreateSessionResponse(Model):
    """The session."""

    session_id: str
    kernel_name: str
    message: str


class JupyterInterruptResult(Model):
    """Whether anything ran."""

    interrupted: bool
