"""Create, list and close shell sessions."""

from datetime import UTC, datetime
from uuid import uuid4

from sandbox_server.core import Call, Model, Reply, operation
from sandbox_server.features.shell.durations import WholeSeconds
from sandbox_server.features.shell.session import ShellId, ShellProfile, ShellSession
from sandbox_server.features.shell.session_limits import FOR_PEOPLE
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.start_directory import start_in

ACTIVE_SECONDS = 300.0
"""How long after its last use a session is counted as active."""


class ShellCreateSessionRequest(Model):
    id: str | None = None
    """Name of the session; an existing one is returned as it is. Default: made up."""
    exec_dir: str | None = None
    """Working directory, absolute. Default: the workspace."""
    no_change_timeout: WholeSeconds | None = None
    """Seconds without output after which an exec in this session answers `no_change_timeout`; 0 is off. Default: 120."""
    preserve_symlinks: bool | None = False
    """Keep symbolic links in exec_dir as they are."""


class ShellCreateSessionResponse(Model):
    session_id: str
    """The session."""
    working_dir: str
    """Its working directory."""


class ShellUpdateSessionRequest(ShellId):
    no_change_timeout: WholeSeconds | None = None
    """New value in seconds; 0 is off."""


class ShellSessionRef(Model):
    session_id: str
    """Session to act on."""


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


class ShellSessionManagement:
    """The sessions themselves."""

    tag = "shell"

    def __init__(self, sessions: ShellSessions, *, workspace: str) -> None:
        self._sessions = sessions
        self._workspace = workspace

    @operation("POST /v1/shell/sessions/create", scope="shell", acts="shell")
    async def create_session(self, request: ShellCreateSessionRequest) -> Reply[ShellCreateSessionResponse]:
        """Create a session, or give the one of that id."""
        profile = ShellProfile(request.id or str(uuid4()))
        if request.no_change_timeout is not None:
            profile.no_change_timeout = request.no_change_timeout
        start = start_in(self._workspace, request.exec_dir, preserve_symlinks=request.preserve_symlinks)
        session = await self._sessions.create(profile, start)
        return Reply(ShellCreateSessionResponse(session_id=session.id, working_dir=session.state.directory), hint=session.made_room)

    @operation("POST /v1/shell/sessions/update", scope="shell", acts="shell")
    async def update_session(self, request: ShellUpdateSessionRequest) -> None:
        """Change a session's settings."""
        session = await self._sessions.get(request.id)
        if request.no_change_timeout is not None:
            session.profile.no_change_timeout = request.no_change_timeout
            self._sessions.save()

    @operation("GET /v1/shell/terminal-url", scope="shell")
    async def get_terminal_url(self, call: Call) -> str:
        """Give the URL of a page that shows a new session.

        The session is made when the page is opened, or when a command is given for the id that the URL holds.
        """
        return f"{call.base_url}/terminal?session_id={self._sessions.promise()}"

    @operation("GET /v1/shell/sessions/stats", scope="shell")
    async def get_session_stats(self) -> ShellSessionStats:
        """Count the sessions of programs, and those that people opened at terminals, which have places of their own."""
        sessions, now = await self._sessions.all(), datetime.now(UTC)
        programs = [session for session in sessions if not session.profile.by_person]
        active = [session for session in programs if (now - session.last_used_at).total_seconds() <= ACTIVE_SECONDS]
        return ShellSessionStats(
            total_sessions=len(programs),
            active_sessions=len(active),
            idle_sessions=len(programs) - len(active),
            max_sessions=self._sessions.limit,
            session_timeout=int(self._sessions.evict_after),
            usage_ratio=len(programs) / self._sessions.limit,
            people_sessions=len(sessions) - len(programs),
            max_people_sessions=FOR_PEOPLE,
        )

    @operation("GET /v1/shell/sessions", scope="shell")
    async def list_sessions(self) -> ActiveShellSessionsResult:
        """List the sessions."""
        return ActiveShellSessionsResult(sessions={session.id: _state(session) for session in await self._sessions.all()})

    @operation("DELETE /v1/shell/sessions", scope="shell", destructive=True, acts="shell")
    async def cleanup_all_sessions(self) -> Reply[None]:
        """Close every session, with what runs in them."""
        sessions = await self._sessions.all()
        for session in sessions:
            await self._sessions.remove(session)
        return Reply(None, message=f"{len(sessions)} sessions closed")

    @operation("DELETE /v1/shell/sessions/{session_id}", scope="shell", destructive=True, acts="shell")
    async def cleanup_session(self, request: ShellSessionRef) -> None:
        """Close a session, with what runs in it."""
        await self._sessions.withdraw(request.session_id)


def _state(session: ShellSession) -> ShellSessionState:
    running = session.state.running
    return ShellSessionState(
        working_dir=session.state.directory,
        created_at=session.profile.created_at,
        last_used_at=session.last_used_at,
        age_seconds=int((datetime.now(UTC) - session.profile.created_at).total_seconds()),
        status=session.status,
        current_command=running.text if running else None,
    )
