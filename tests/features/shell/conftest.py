"""Shell sessions over a real spawner, real file workers and a real tmux."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.shells.isolated_shells import IsolatedShells
from sandbox_server.drivers.shells.session_store import ShellStore
from sandbox_server.drivers.shells.shells import TmuxShells
from sandbox_server.drivers.shells.tmux import Tmux
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.shell import sessions
from sandbox_server.features.shell.commands import ShellCommandResult, ShellCommands, ShellExecRequest
from sandbox_server.features.shell.processes import ShellProcesses
from sandbox_server.features.shell.session_management import ShellSessionManagement, ShellSessionState
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.terminals import ShellTerminals
from tests.controls import FreeControl

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

CALL = Call(Caller("agent"), "request")
"""A call of an agent."""


@dataclass(frozen=True, slots=True)
class Shell:
    """The features under the tag `shell`."""

    commands: ShellCommands
    processes: ShellProcesses
    sessions: ShellSessionManagement
    terminals: ShellTerminals

    async def listed(self, caller: Caller = Caller("agent")) -> dict[str, ShellSessionState]:  # noqa: B008 # it is frozen
        """The sessions as a caller sees them."""
        sessions: dict[str, ShellSessionState] = (await self.sessions.list_sessions(Call(caller, "request"))).sessions
        return sessions


class Server:
    """What a server has of shells: the feature and its drivers, opened again and again over the same shells."""

    def __init__(self, spawner: "SpawnerDaemon", files: Files, home: Path, state: Path) -> None:
        self.home = home
        self.shells_directory = home / ".shells"
        self._processes = Processes(spawner.socket)
        self._files = files
        self._state = state
        self.sessions: ShellSessions
        self.tmux: Tmux

    @asynccontextmanager
    async def serving(self, limit: int = 4, evict_after: float = 0) -> AsyncIterator[Shell]:
        """Serve, until the context is left; the shells go on."""
        directory = str(self.shells_directory)
        async with AsyncExitStack() as stack:
            self.tmux = await stack.enter_async_context(Tmux(self._processes, directory))
            shells = TmuxShells(self._processes, self._files, self.tmux, directory)
            self.sessions = ShellSessions(shells, ShellStore(str(self._state / "shells.json")), limit=limit, evict_after=evict_after)
            await stack.enter_async_context(self.sessions)
            isolated, home = IsolatedShells(self._processes, directory), str(self.home)
            yield Shell(
                ShellCommands(self.sessions, isolated, workspace=home),
                ShellProcesses(self.sessions),
                ShellSessionManagement(self.sessions, workspace=home),
                ShellTerminals(self.sessions, FreeControl(), workspace=home),
            )


@pytest.fixture
def server(spawner: "SpawnerDaemon", files: Files, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that is not serving yet; its tmux ends with the test."""
    monkeypatch.setattr(sessions, "NOTE_SECONDS", 30.0)
    made = Server(spawner, files, home, tmp_path)
    made.shells_directory.mkdir(mode=0o700)
    shutil.chown(made.shells_directory, "gem", "gem")
    spawner.environment |= {"HOME": str(home), "WORKSPACE": str(home)}
    spawner.stop()
    spawner.start("--allow-root")
    yield made
    subprocess.run(["tmux", "-S", str(made.shells_directory / "tmux.sock"), "kill-server"], check=False, capture_output=True)


@pytest.fixture
async def shell(server: Server) -> AsyncIterator[Shell]:
    """The feature, with room for four sessions."""
    async with server.serving() as feature:
        yield feature


class Runner:
    """Runs commands in one session, shortly."""

    def __init__(self, shell: Shell, session_id: str) -> None:
        self.shell = shell
        self.id = session_id
        self.hint: str | None = None

    async def __call__(self, command: str, **options: object) -> ShellCommandResult:
        """Run a command and give its result; `hint` holds the envelope's."""
        async with asyncio.timeout(180):
            reply = await self.shell.commands.exec_command(ShellExecRequest.model_validate({"id": self.id, "command": command, **options}))
        self.hint = reply.hint
        result: ShellCommandResult = reply.data
        return result


@pytest.fixture
async def run(shell: Shell) -> Runner:
    """Commands in a session named `main`."""
    return Runner(shell, "main")
