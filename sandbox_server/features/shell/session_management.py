"""Create, list and close shell sessions."""

from collections import Counter
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from sandbox_server.core import Call, Caller, Model, Reply, operation
from sandbox_server.features.shell.durations import WholeSeconds
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_limits import FOR_PEOPLE, FOR_TERMINALS
from sandbox_server.features.shell.session_profile import ShellId, ShellProfile
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.start_directory import start_in

MAX_COMMAND = 2000
"""Characters of a command in a list."""
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
    """What runs, as it was given or typed; what is over 2000 characters is cut and ends with `…`."""
    alive: bool = True
    """Whether its shell lives. One that has ended opens again with the next command, and makes room for a new session."""
    made_by: Literal["agent", "person"] = "agent"
    """Who made it: a program, or a person at a terminal."""
    owner: str | None = None
    """The person who made it; null where a program did."""
    yours: bool = False
    """Whether you are that person."""
    used: bool = True
    """Whether anything was ever run or typed in it."""
    last_input_at: datetime | None = None
    """When something was last run or typed in it; null where nothing was."""
    last_input_by: Literal["agent", "person"] | None = None
    """Who did that."""
    terminals: int = 0
    """Terminals that show it now."""


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
    ended_sessions: int = 0
    """Of them, those whose shell has ended: they make room for new ones."""
    usage_ratio: float
    """Part of max_sessions that is used, 0.0 to 1.0; sessions whose shell has ended do not count."""
    people_sessions: int
    """Sessions that people opened at terminals."""
    max_people_sessions: int
    """Sessions that people may have open, beside those of programs."""
    terminal_sessions: int = 0
    """Sessions that programs opened at terminals."""
    max_terminal_sessions: int = FOR_TERMINALS
    """Sessions that programs may have open at terminals, beside the others."""


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
        """Count the sessions of programs, and those that were opened at terminals, which have places of their own."""
        sessions, now = await self._sessions.all(), datetime.now(UTC)
        pools = Counter(session.profile.pool for session in sessions)
        programs = [session for session in sessions if session.profile.pool == "programs"]
        ended = sum(session.state.over is not None for session in programs)
        active = [session for session in programs if (now - session.last_used_at).total_seconds() <= ACTIVE_SECONDS]
        return ShellSessionStats(
            total_sessions=len(programs),
            active_sessions=len(active),
            idle_sessions=len(programs) - len(active),
            max_sessions=self._sessions.limit,
            session_timeout=int(self._sessions.evict_after),
            ended_sessions=ended,
            usage_ratio=(len(programs) - ended) / self._sessions.limit,
            people_sessions=pools["people"],
            max_people_sessions=FOR_PEOPLE,
            terminal_sessions=pools["terminals"],
        )

    @operation("GET /v1/shell/sessions", scope="shell")
    async def list_sessions(self, call: Call) -> ActiveShellSessionsResult:
        """List the sessions: who made each, where it is and what runs there."""
        return ActiveShellSessionsResult(sessions={session.id: _state(session, call.caller) for session in await self._sessions.all()})

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


def _state(session: ShellSession, caller: Caller) -> ShellSessionState:
    profile, last = session.profile, session.state.last_input
    return ShellSessionState(
        working_dir=session.state.directory,
        created_at=profile.created_at,
        last_used_at=session.last_used_at,
        age_seconds=int((datetime.now(UTC) - profile.created_at).total_seconds()),
        status=session.status,
        current_command=_shortened(session.state.current_command),
        alive=session.state.over is None,
        made_by="person" if profile.by_person else "agent",
        owner=profile.owner or None,
        yours=profile.by_person and caller.person and profile.owner == caller.name,
        used=profile.used,
        last_input_at=last.at if last else None,
        last_input_by=("person" if last.by_person else "agent") if last else None,
        terminals=len(session.state.viewers),
    )


def _shortened(command: str | None) -> str | None:
    return command if command is None or len(command) <= MAX_COMMAND else f"{command[: MAX_COMMAND - 1]}…"
