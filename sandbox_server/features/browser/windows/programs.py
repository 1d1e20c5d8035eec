"""Starts programs on the desktop and waits for their first window."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Literal, Protocol

from pydantic import Field

from sandbox_server.core import Failure, Model, Reply, operation
from sandbox_server.drivers.shells.risky_commands import is_risky
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.browser.windows.window import WindowOnScreen, is_browser, on_screen

LOOK_SECONDS = 0.1


class ProgramRequest(Model):
    command: Annotated[str, Field(min_length=1)]
    """Shell command that is the program, such as `xterm -e top`. It runs on when the call has answered."""
    exec_dir: str | None = None
    """Working directory, absolute."""
    env: dict[str, str | None] | None = None
    """Environment variables; null removes one."""
    wait: Annotated[float, Field(ge=0, le=60)] = 10
    """Seconds to wait for its first window."""


class ProgramState(Model):
    session_id: str
    """Session of `/v1/bash` in which it runs: read its output and end it there."""
    command_id: str
    """Its command there."""
    status: Literal["pending", "running", "completed", "timed_out", "killed"]
    """As `/v1/bash/output` says it."""
    exit_code: int | None
    """The observed exit code; null while it runs or after a signal."""
    signal: str | None
    """Name of the signal that ended it, such as `SIGKILL`."""
    stderr: str
    """What it has written to standard error until now: the first 4,000 characters."""


class ProgramStarted(Model):
    program: ProgramState
    windows: list[WindowOnScreen]
    """Windows that have appeared since the start, topmost first, without the browser's. One of another program is among them if it
    appeared meanwhile.
    """


class Commands(Protocol):
    """Starts commands of the agent, and says what became of them."""

    async def start(self, command: str, *, exec_dir: str | None, env: Mapping[str, str | None] | None) -> ProgramState:
        """Start a command. Raises Failure."""

    async def look(self, started: ProgramState) -> ProgramState:
        """Say how it is now. Raises Failure."""


class DesktopPrograms:
    """Starts programs, and shows their windows."""

    tag = "screen"

    def __init__(self, desktop: Desktop, commands: Commands) -> None:
        self._desktop = desktop
        self._commands = commands

    @operation(
        "POST /v1/screen/programs",
        scope="shell",
        tool="sandbox_screen_launch",
        destructive=True,
        risky=lambda request: is_risky(request.command),
        acts=("gui", "shell"),
        shows=True,
    )
    async def launch_program(self, request: ProgramRequest) -> Reply[ProgramStarted]:
        """Start a program on the desktop, and answer when it has a window, or has ended, or after `wait` seconds.

        It is a command of `/v1/bash`, which reads its output and ends it.
        """
        before = {window.xid for window in await self._desktop.windows.all()}
        program = await self._commands.start(request.command, exec_dir=request.exec_dir, env=request.env)
        deadline = asyncio.get_running_loop().time() + request.wait
        while True:
            program = await self._commands.look(program)
            running = program.status in ("pending", "running")
            try:
                windows = [window for window in await self._desktop.windows.all() if window.xid not in before and not is_browser(window)]
            except Failure as failure:  # the program runs: what ends it must be known
                return Reply(ProgramStarted(program=program, windows=[]), hint=f"its windows are not known: {failure.message}")
            if windows or not running or asyncio.get_running_loop().time() >= deadline:
                break
            await asyncio.sleep(LOOK_SECONDS)
        hint = None if windows else ("it has no window yet: see /v1/screen/elements" if running else "it has ended without a window")
        return Reply(ProgramStarted(program=program, windows=[on_screen(window) for window in windows]), hint=hint)
