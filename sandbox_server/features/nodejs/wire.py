"""What goes over the wire for Node.js, by the contract's names."""

from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.fence.policy import IsolationPolicy

type ExecutionStatus = Literal["ok", "error", "timeout"]

DEFAULT_TIMEOUT = 30
Timeout = Annotated[int, Field(ge=1, le=300)]
IdleSeconds = Annotated[int, Field(ge=60, le=86400)]


class NodeJSExecuteRequest(Model):
    """Code to run."""

    code: str
    """A program, an ES module or CommonJS; in a session, code as in a browser's console, with `await` and `import` anywhere."""
    timeout: Timeout | None = DEFAULT_TIMEOUT
    """Seconds after which it is stopped."""
    stdin: str | None = None
    """What it reads from its standard input."""
    files: dict[str, str] | None = None
    """Files to write before it starts, by a path that is relative to its directory."""
    stateful: bool | None = False
    """Run it in a session, whose variables it sees and keeps."""
    session_id: str | None = None
    """Session to run it in; made when there is none of that id. It implies `stateful`."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the session's own; for a program, a new one in the workspace that is removed with all in it."""
    version: str | None = None
    """Which Node.js: `node20`, `node22`, `node24`, or `20`, `22`, `24`. Absent: the default."""
    language: Literal["javascript", "typescript"] = "javascript"
    """Types are stripped from TypeScript, not checked; it takes Node.js 22 or later."""
    isolation: IsolationPolicy | None = None
    """What it is kept from. It holds for a session as long as that lives, from its first code on; absent later: the session's own."""


class NodeJSOutput(Model):
    """One output."""

    output_type: Literal["stream", "execute_result", "error"]
    name: str | None = None
    """`stdout` or `stderr`, of a stream."""
    text: str | None = None
    """What was written, of a stream."""
    ename: str | None = None
    """Class of the exception."""
    evalue: str | None = None
    """Text of the exception."""
    traceback: list[str] | None = None
    data: dict[str, Any] | None = None
    """The last expression's value by media type, in a session."""
    metadata: dict[str, Any] | None = None


class NodeJSExecuteResponse(Model):
    """What became of it."""

    language: Literal["javascript"] = "javascript"
    status: ExecutionStatus
    """`ok`, `error` (an exception, or an exit code other than 0), `timeout`."""
    execution_count: int | None = None
    """How many pieces of code the session has run."""
    outputs: list[NodeJSOutput] = Field(default_factory=list)
    code: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int
    """Of the program. 124 after a timeout, 128 and the number of the signal that ended it; in a session 0, or 1 after an exception."""
    session_id: str | None = None


class NodeJSPackage(Model):
    name: str
    version: str


class NodeJSRuntime(Model):
    """Node.js versions and packages."""

    node_version: str
    npm_version: str
    supported_languages: list[str]
    description: str
    runtime_directory: str | None = None
    """Where this Node.js is."""
    global_npm_directory: str | None = None
    """Where `npm install --global` puts packages."""
    runtime_packages: list[NodeJSPackage] = Field(default_factory=list)
    global_packages: list[NodeJSPackage] = Field(default_factory=list)
    error: str | None = None
    available_versions: list[str] = Field(default_factory=list)
    """Those that can be started here."""
    current_version: str | None = None


class NodeJSVersion(Model):
    version: str | None = None
    """Which Node.js: `node20`, `node22`, `node24`, or `20`, `22`, `24`."""


class NodeJSCreateSessionRequest(Model):
    """A session to open."""

    session_id: str | None = None
    """Its id. Empty or absent: a new one. An id that exists gives that session."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the workspace."""
    max_idle_time: IdleSeconds | None = 86400
    """Seconds without use after which it is closed."""
    version: str | None = None
    """Which Node.js. Absent: the default."""
    isolation: IsolationPolicy | None = None
    """What its code is kept from, as long as the session lives."""


class NodeJSSession(Model):
    """One session."""

    session_id: str
    cwd: str
    created_at: float
    """Milliseconds since the epoch."""
    last_used: float
    """Milliseconds since the epoch."""
    max_idle_time: int
    """Milliseconds."""
    age_seconds: int
    """Seconds since it was used last."""
    state: Literal["IDLE", "EXECUTING"]
    version: str
    """Which Node.js, as in `node22`."""


class NodeJSCreateSessionResponse(Model):
    session_id: str
    created: bool
    """False for one that was there."""
    message: str | None = None
    session: NodeJSSession | None = None


class NodeJSSessionListResponse(Model):
    sessions: dict[str, NodeJSSession] = Field(default_factory=dict)
    """By id."""


class NodeJSSessionRef(Model):
    """A session by its id."""

    session_id: str
    version: str | None = None
    """Which Node.js it has to be of. Absent: any."""


class NodeJSSessionResponse(Model):
    session: NodeJSSession


class NodeJSUpdateSessionRequest(Model):
    """What to change of a session."""

    session_id: str
    version: str | None = None
    """Which Node.js it has to be of. Absent: any."""
    max_idle_time: IdleSeconds | None = None
    """Seconds without use after which it is closed."""
    cwd: str | None = None
    """Working directory of the next code, absolute."""


class NodeJSUpdateSessionResponse(Model):
    updated: bool
    session: NodeJSSession


class NodeJSDeleteSessionResponse(Model):
    deleted: bool
