"""What goes over the wire for code, by the contract's names."""

from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.fence.policy import IsolationPolicy

type Language = Literal["python", "javascript", "typescript", "bash"]

DEFAULT_TIMEOUT = 30
MAX_TIMEOUT = 300
Timeout = Annotated[int, Field(ge=1, le=MAX_TIMEOUT)]


class CodeExecuteRequest(Model):
    """Code to run."""

    code: str
    language: Language = "python"
    timeout: Timeout | None = None
    """Seconds after which it is stopped; 30 unless it is said."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the workspace; for JavaScript a new one in it, which is removed afterwards."""
    stateful: bool = False
    """Keep variables for the next code with the same `session_id`. Not for bash: `/v1/shell/exec` keeps a shell."""
    session_id: str | None = None
    """Session whose variables it sees, with `stateful`; made when there is none of that id. Absent: a new one, which the answer names."""
    isolation: IsolationPolicy | None = None
    """What it is kept from. It holds for a session as long as that lives, from its first code on; absent later: the session's own."""


class CodeExecuteResponse(Model):
    """What became of it."""

    language: Language
    status: Literal["running", "ok", "error", "timeout"]
    """`ok`, `error` (an exception, or an exit code other than 0), `timeout`."""
    outputs: list[dict[str, Any]] = Field(default_factory=list)
    """Streams, results, pictures and exceptions in order, by Jupyter's names."""
    code: str
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    """Null where code ended by a timeout or a signal in Python or bash."""
    traceback: list[str] | None = None
    session_id: str | None = None
    """With `stateful` only."""
    dropped_bytes: int = 0
    """Bytes of output over the limit, which are not in this."""


class CodeLanguage(Model):
    """One language."""

    language: Language
    description: str
    runtime_version: str | None = None
    default_timeout: int = Field(default=DEFAULT_TIMEOUT, ge=1, le=MAX_TIMEOUT)
    max_timeout: int = Field(default=MAX_TIMEOUT, ge=1, le=MAX_TIMEOUT)
    details: dict[str, Any] = Field(default_factory=dict)


class CodeInfoResponse(Model):
    """The languages that can be run here."""

    languages: list[CodeLanguage]
