"""The operations on Node.js."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import InvalidArgument, Model, Reply, operation
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.nodes.script import NodeLimits, NodeProgram, NodeScripts
from sandbox_server.drivers.nodes.session import NodeSession
from sandbox_server.drivers.nodes.sessions import MAX_IDLE, NodeSessions
from sandbox_server.drivers.stats.toolbox import Toolbox
from sandbox_server.features.nodejs.execution import DEFAULT_TIMEOUT, NodeJSExecuteRequest, NodeJSExecuteResponse, answer

IdleSeconds = Annotated[int, Field(ge=60, le=86400)]


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
    """Directory of this Node.js."""
    global_npm_directory: str | None = None
    """Where `npm install --global` puts packages."""
    runtime_packages: list[NodeJSPackage] = Field(default_factory=list)
    global_packages: list[NodeJSPackage] = Field(default_factory=list)
    error: str | None = None
    available_versions: list[str] = Field(default_factory=list)
    """The versions that can be started."""
    current_version: str | None = None


class NodeJSVersion(Model):
    version: str | None = None
    """Version of Node.js: `node20`, `node22`, `node24`, or `20`, `22`, `24`."""


class NodeJSCreateSessionRequest(Model):
    """A session to open."""

    session_id: str | None = None
    """Its id. Empty or absent: a new one. An existing session is returned."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the workspace."""
    max_idle_time: IdleSeconds | None = 86400
    """Idle seconds after which it is closed."""
    version: str | None = None
    """Version of Node.js. Absent: the default."""
    isolation: IsolationPolicy | None = None
    """The restrictions of its code, for the session's whole life."""


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
    """Seconds since it was last used."""
    state: Literal["IDLE", "EXECUTING"]
    version: str
    """Version of Node.js, such as `node22`."""


class NodeJSCreateSessionResponse(Model):
    session_id: str
    created: bool
    """False if it existed."""
    message: str | None = None
    session: NodeJSSession | None = None


class NodeJSSessionListResponse(Model):
    sessions: dict[str, NodeJSSession] = Field(default_factory=dict)
    """By id."""


class NodeJSSessionRef(Model):
    """A session by its id."""

    session_id: str
    version: str | None = None
    """Required version of Node.js. Absent: any."""


class NodeJSSessionResponse(Model):
    session: NodeJSSession


class NodeJSUpdateSessionRequest(Model):
    """Changes of a session."""

    session_id: str
    version: str | None = None
    """Required version of Node.js. Absent: any."""
    max_idle_time: IdleSeconds | None = None
    """Idle seconds after which it is closed."""
    cwd: str | None = None
    """Working directory of the next code, absolute."""


class NodeJSUpdateSessionResponse(Model):
    updated: bool
    session: NodeJSSession


class NodeJSDeleteSessionResponse(Model):
    deleted: bool


@dataclass(frozen=True, slots=True)
class NodeResources:
    """Limits in bytes of one execution: of each stored stream, and of memory."""

    output: int
    memory: int


class NodeJS:
    """Runs JavaScript and TypeScript of the agent."""

    tag = "nodejs"

    def __init__(self, scripts: NodeScripts, sessions: NodeSessions, toolbox: Toolbox, room: NodeResources) -> None:
        self._scripts = scripts
        self._sessions = sessions
        self._toolbox = toolbox
        self._room = room

    @operation("POST /v1/nodejs/execute", scope="code", acts="shell")
    async def execute_code(self, request: NodeJSExecuteRequest) -> Reply[NodeJSExecuteResponse]:
        """Run JavaScript or TypeScript.

        By default it is a program with its own process and directory. With `stateful` or a `session_id` it is evaluated
        in a session, which keeps variables, functions and imports, and the last expression's value is an output.
        """
        _require_absolute(request.cwd)
        limits = NodeLimits(self._room.output, self._room.memory, request.timeout or DEFAULT_TIMEOUT)
        if request.stateful or request.session_id:
            return await self._evaluate(request, limits)
        node = await self._sessions.nodes.get(request.version)
        typescript = request.language == "typescript"
        program = NodeProgram(request.code, typescript, request.stdin or "", request.files or {}, request.cwd, request.isolation)
        return answer(request.code, await self._scripts.run(node, program, limits), None)

    @operation("GET /v1/nodejs/info", scope="view")
    async def get_info(self, request: NodeJSVersion) -> NodeJSRuntime:
        """List the Node.js versions and packages."""
        nodes = self._sessions.nodes
        node = await nodes.get(request.version)
        installed = [NodeJSPackage(name=name, version=version) for name, version in await self._toolbox.node_packages()]
        languages = ["javascript"] + [language for language, major in (("typescript", 22),) if node.major >= major]
        return NodeJSRuntime(
            node_version=f"v{node.version}",
            npm_version=await self._toolbox.npm("--version"),
            supported_languages=languages,
            description="Node.js: programs that run once, and sessions that remember",
            runtime_directory=node.program.rsplit("/", 2)[0],
            global_npm_directory=await self._toolbox.npm("root --global"),
            global_packages=installed,
            available_versions=list(await nodes.all()),
            current_version=node.name,
        )

    @operation("POST /v1/nodejs/sessions", scope="code", query=("version",), acts="shell")
    async def create_session(self, request: NodeJSCreateSessionRequest) -> NodeJSCreateSessionResponse:
        """Open a session."""
        idle = request.max_idle_time or MAX_IDLE
        session, created = await self._sessions.create(request.session_id, request.version, request.cwd, idle, request.isolation)
        message = "Session created" if created else "Session already exists"
        return NodeJSCreateSessionResponse(session_id=session.id, created=created, message=message, session=_described(session))

    @operation("GET /v1/nodejs/sessions", scope="view")
    async def list_sessions(self, request: NodeJSVersion) -> NodeJSSessionListResponse:
        """List the sessions, of one version if given."""
        node = await self._sessions.nodes.get(request.version) if request.version else None
        listed = [session for session in self._sessions if node in (None, session.node)]
        return NodeJSSessionListResponse(sessions={session.id: _described(session) for session in listed})

    @operation("GET /v1/nodejs/sessions/{session_id}", scope="view")
    async def get_session(self, request: NodeJSSessionRef) -> NodeJSSessionResponse:
        """Describe a session."""
        return NodeJSSessionResponse(session=_described(await self._sessions.get(request.session_id, request.version)))

    @operation("PATCH /v1/nodejs/sessions/{session_id}", scope="code", query=("version",), acts="shell")
    async def update_session(self, request: NodeJSUpdateSessionRequest) -> NodeJSUpdateSessionResponse:
        """Change a session's directory or idle time."""
        _require_absolute(request.cwd)
        session = await self._sessions.get(request.session_id, request.version)
        if request.max_idle_time:
            session.max_idle = request.max_idle_time
        if request.cwd:
            session.move(request.cwd)
        return NodeJSUpdateSessionResponse(updated=True, session=_described(session))

    @operation("DELETE /v1/nodejs/sessions/{session_id}", scope="code", destructive=True, acts="shell")
    async def delete_session(self, request: NodeJSSessionRef) -> NodeJSDeleteSessionResponse:
        """Close a session. Its code is ended and its variables are lost."""
        await self._sessions.remove(await self._sessions.get(request.session_id, request.version))
        return NodeJSDeleteSessionResponse(deleted=True)

    async def _evaluate(self, request: NodeJSExecuteRequest, limits: NodeLimits) -> Reply[NodeJSExecuteResponse]:
        session, created = await self._sessions.create(request.session_id, request.version, request.cwd, isolation=request.isolation)
        if request.cwd and not created:
            session.move(request.cwd)
        if request.files:
            await self._scripts.write(session.directory, request.files)
        typescript = request.language == "typescript"
        outcome = await session.execute(request.code, limits, typescript=typescript, stdin=request.stdin or "")
        return answer(request.code, outcome, session.id)


def _described(session: NodeSession) -> NodeJSSession:
    return NodeJSSession(
        session_id=session.id,
        cwd=session.directory,
        created_at=session.created_at * 1000,
        last_used=session.last_use.at * 1000,
        max_idle_time=session.max_idle * 1000,
        age_seconds=int(session.idle_seconds),
        state="EXECUTING" if session.busy else "IDLE",
        version=session.node.name,
    )


def _require_absolute(path: str | None) -> None:
    if path and not path.startswith("/"):
        raise InvalidArgument(f"cwd {path!r} is not an absolute path", field="cwd")
