"""The operations on Jupyter kernels."""

from collections.abc import AsyncIterator
from typing import Literal

from sandbox_server.core import Call, Event, Model, Reply, operation, stream_of
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.kernel import OutputBounds
from sandbox_server.drivers.kernels.session import JupyterSession
from sandbox_server.drivers.kernels.sessions import KernelSessions
from sandbox_server.features.jupyter.execution import DEFAULT_TIMEOUT, JupyterExecuteRequest, JupyterExecuteResponse, answer
from sandbox_server.features.jupyter.follow import EVENTS, ExecutionPosition, follow


class JupyterInfoResponse(Model):
    """Kernels and sessions."""

    default_kernel: str
    available_kernels: list[str]
    """The kernels that can be started."""
    active_sessions: int
    session_timeout_seconds: int
    """Idle seconds after which a session is closed."""
    max_sessions: int
    description: str
    kernel_detection: str


class KernelSession(Model):
    """One session."""

    kernel_name: str
    last_used: float
    """Seconds since the epoch."""
    age_seconds: int
    """Seconds since it was last used."""
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
    """Its id. Empty or absent: a new one. An existing session is returned."""
    kernel_name: str | None = None
    """Kernel from `info`. Absent: the default."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the workspace."""
    isolation: IsolationPolicy | None = None
    """The restrictions of its code, for the session's whole life."""


class JupyterCreateSessionResponse(Model):
    """The session."""

    session_id: str
    kernel_name: str
    message: str


class JupyterInterruptResult(Model):
    """Whether any code was interrupted."""

    interrupted: bool


class Jupyter:
    """Runs Python code in kernels of the agent."""

    tag = "jupyter"

    def __init__(self, sessions: KernelSessions, *, output_bytes: int) -> None:
        self._sessions = sessions
        self._bounds = OutputBounds(output_bytes)

    @operation("POST /v1/jupyter/execute", scope="code", acts="shell")
    async def execute_code(self, request: JupyterExecuteRequest) -> Reply[JupyterExecuteResponse]:
        """Run Python code in a kernel.

        Variables are kept for the next execution with the same `session_id`. An idle session is closed after half an
        hour.

        With `Accept: text/event-stream` the outputs are streamed: `output` events, then `exit`. To resume, send the
        same request with the last event's id as `Last-Event-ID`: the code is not run again.
        """
        session, execution = await self._begin(request)
        await execution.wait()
        return answer(session, execution)

    @stream_of(execute_code, events=EVENTS)
    async def stream_execute(self, request: JupyterExecuteRequest, call: Call) -> AsyncIterator[Event]:
        """Run Python code and stream its outputs, or resume an execution after `Last-Event-ID`."""
        if call.last_event_id:
            position = ExecutionPosition.parse(call.last_event_id)
            return follow(self._sessions.get(position.session_id).execution(position.execution_id), position)
        session, execution = await self._begin(request)
        return follow(execution, ExecutionPosition(session.id, execution.id, 0))

    @operation("GET /v1/jupyter/info", scope="view")
    async def get_info(self) -> JupyterInfoResponse:
        """List the kernels, and count the sessions."""
        kernels = self._sessions.kernels
        return JupyterInfoResponse(
            default_kernel=kernels.default,
            available_kernels=list(await kernels.pythons.all()),
            active_sessions=len(self._sessions),
            session_timeout_seconds=int(self._sessions.idle_timeout),
            max_sessions=self._sessions.limit,
            description="Python code in Jupyter kernels, with variables that stay and rich outputs",
            kernel_detection="each Python of the image that has the packages of a kernel",
        )

    @operation("GET /v1/jupyter/sessions", scope="view")
    async def list_sessions(self) -> ActiveSessionsResult:
        """List the sessions."""
        return ActiveSessionsResult(sessions={session.id: _described(session) for session in self._sessions})

    @operation("DELETE /v1/jupyter/sessions", scope="code", destructive=True, acts="shell")
    async def delete_sessions(self) -> None:
        """Close every session. Running code is ended and all variables are lost."""
        await self._sessions.clear()

    @operation("POST /v1/jupyter/sessions/create", scope="code", acts="shell")
    async def create_session(self, request: JupyterCreateSessionRequest) -> JupyterCreateSessionResponse:
        """Create a session with a kernel that is ready."""
        session = await self._sessions.create(request.session_id, request.kernel_name, request.cwd, request.isolation)
        return JupyterCreateSessionResponse(session_id=session.id, kernel_name=session.kernel_name, message="Session is ready")

    @operation("DELETE /v1/jupyter/sessions/{session_id}", scope="code", destructive=True, acts="shell")
    async def delete_session(self, request: JupyterSessionRef) -> None:
        """Close a session. Its code is ended and its variables are lost."""
        await self._sessions.remove(self._sessions.get(request.session_id))

    @operation("POST /v1/jupyter/sessions/{session_id}/interrupt", scope="code", acts="shell")
    async def interrupt_session(self, request: JupyterSessionRef) -> JupyterInterruptResult:
        """Interrupt the code of a session, as Ctrl-C does. Its variables stay."""
        return JupyterInterruptResult(interrupted=await self._sessions.get(request.session_id).interrupt())

    async def _begin(self, request: JupyterExecuteRequest) -> tuple[JupyterSession, Execution]:
        timeout = request.timeout or DEFAULT_TIMEOUT
        return await self._sessions.begin(
            request.session_id,
            request.kernel_name,
            request.code,
            timeout=timeout,
            bounds=self._bounds,
            directory=request.cwd,
            isolation=request.isolation,
        )


def _described(session: JupyterSession) -> KernelSession:
    return KernelSession(
        kernel_name=session.kernel_name,
        last_used=session.last_use.at,
        age_seconds=int(session.idle_seconds),
        state="busy" if session.busy else "idle",
    )
