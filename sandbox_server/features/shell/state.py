"""What is known of a session's shell, from what it says: sans-io, fed by a driver, awaited by those who act on it."""

import asyncio
import signal as signals
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from sandbox_server.drivers.shells.shell_integration import Mark
from sandbox_server.drivers.spawn.process import LOST, Exit
from sandbox_server.features.shell.capture import OutputRing
from sandbox_server.features.shell.command import BashCommandStatus, RunningCommand
from sandbox_server.features.shell.text import plain

REPLAY = 256 << 10
"""Bytes of the terminal that a viewer who comes back can be given again."""
_MAX_PROMPT = 4096
_SIGNALS = {number.value: number.name for number in signals.Signals}
"""Names of signals; most of the real-time ones have none."""


class TerminalViewer(Protocol):
    """Who looks at a terminal; the calls come in order."""

    def output(self, data: bytes) -> None:
        """Bytes for the terminal."""

    def stale(self) -> None:
        """What was seen so far may be wrong: look at the screen again."""

    def closed(self) -> None:
        """The session is over."""


@dataclass(frozen=True, slots=True)
class LastInput:
    """When something was last run or typed in a session, and by whom."""

    at: datetime
    by_person: bool


class ShellState:
    """The state of one shell after the other in the same terminal. `turned` is told whenever something happened."""

    def __init__(self, turned: Callable[[], None] = lambda: None) -> None:
        self._turned = turned
        self.directory = ""
        self.running: RunningCommand | None = None
        """The agent's command that was given to the shell and has not ended."""
        self.foreign = False
        """Whether a line runs that was typed at the terminal."""
        self.ready = False
        """Whether the prompt is shown and keys are read."""
        self.over: Exit | None = None
        """How the shell ended, when it has."""
        self.ps1 = ""
        """The prompt, its last line."""
        self.entered: Callable[[str], None] = lambda line: None
        """Is told every line that was typed at the prompt, as it was to be seen."""
        self.last_input: LastInput | None = None
        """What was last run or typed here; None where nothing was."""
        self._line = ""
        self._took_leave = False
        self.log = OutputRing(REPLAY)
        self.viewers: set[TerminalViewer] = set()
        self._prompt = bytearray()
        self._turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def busy(self) -> bool:
        """Whether something runs in the shell."""
        return self.running is not None or self.foreign

    @property
    def current_command(self) -> str | None:
        """What runs, as it was given or typed; None where nothing does, or nobody heard what was typed."""
        if self.running:
            return self.running.text
        return self._line or None if self.foreign else None

    def note_input(self, *, by_person: bool) -> None:
        """Note that something is run or typed now."""
        self.last_input = LastInput(datetime.now(UTC), by_person)

    def output(self, data: bytes) -> None:
        """Take bytes of the terminal."""
        if self.running and self.running.begun:
            self.running.wrote(data)
        elif len(self._prompt) < _MAX_PROMPT:
            self._prompt += data
        self.log.add(data)
        for viewer in list(self.viewers):
            viewer.output(data)

    def marked(self, mark: Mark) -> None:
        """Take what the shell says of itself."""
        command = self.running
        mine = command is not None and command.token == mark.token
        match mark.kind:
            case "line":
                if command is None:
                    self._take_line()
                self.ready, self.foreign = False, command is None
            case "start" if command and mine:
                command.begin()
            case "nowhere" if command and mine:
                command.nowhere = True
            case "unread" if command:
                command.unread = True
            case "end" if command and mine:
                self.directory = mark.directory
                self.finish(mark.status)
            case "prompt":
                self.directory, self.foreign = mark.directory, False
                self._prompt.clear()
            case "leave":
                self._took_leave = True
            case "ready":
                self.ps1 = plain(bytes(self._prompt)).rpartition("\n")[2]
                self.ready = True
        self.turn_over()

    def _take_line(self) -> None:
        shown = plain(bytes(self._prompt))
        self._line = shown[shown.rfind(self.ps1) + len(self.ps1) :].strip()
        if self._line:
            self.entered(self._line)

    def ended(self, observed: Exit) -> None:
        """Take the end of the shell, and of the command in it."""
        self.over, self.ready, self.foreign = observed, False, False
        took_leave, self._took_leave = self._took_leave, False
        if command := self.running:
            self.running = None
            command.add_hint(f"the session's shell ended with the command ({describe_exit(observed)}); the next exec opens a new one")
            if not took_leave:  # it was replaced or killed, and tmux does not pass on what it still holds then
                command.add_hint("the end of its output may be missing: /v1/bash/exec gives all, and so does a shell below this one")
            command.finish(command.stopping or "terminated", None if command.stopping else observed.code)
        notice = f"\r\n[shell ended: {describe_exit(observed)}. Press Enter to reopen]\r\n"
        for viewer in list(self.viewers):
            viewer.output(notice.encode())
        self.turn_over()

    def close(self) -> None:
        """Take the end of the session: nobody waits for its shell any longer."""
        if command := self.running:
            command.add_hint("the session was closed")
            command.finish("terminated", None)
        self.over = self.over or LOST
        self.running, self.ready, self.foreign = None, False, False
        for viewer in list(self.viewers):
            viewer.closed()
        self.turn_over()

    def finish(self, code: int) -> None:
        """Note that the running command has ended with `code`."""
        if command := self.running:
            self.running = None
            command.finish(command.stopping or "completed", None if command.stopping else code)

    def status(self, latest: RunningCommand | None) -> BashCommandStatus:
        """Of what runs, or of what ran last."""
        if self.busy:
            return "running"
        if self.over:
            return "terminated"
        return latest.status if latest else "completed"

    async def until(self, true: Callable[[], object], timeout: float) -> bool:
        """Wait until something is so, at most `timeout` seconds; tells whether it is. It is asked whenever the shell says something."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not (reached := bool(true())) and (left := deadline - loop.time()) > 0:
            await asyncio.wait([self._turn], timeout=left)
        return reached

    async def until_ready(self, timeout: float) -> bool:
        """Wait for the prompt, at most `timeout` seconds or until the shell has ended; tells whether it is there."""
        await self.until(lambda: self.ready or self.over, timeout)
        return self.ready

    def turn_over(self) -> None:
        """Wake those who wait for something to happen."""
        turned, self._turn = self._turn, asyncio.get_running_loop().create_future()
        turned.set_result(None)
        self._turned()


def describe_exit(observed: Exit) -> str:
    """Say how a shell ended."""
    if observed.code is not None:
        return f"exit code {observed.code}"
    if observed.signal is not None:
        return f"killed by {_SIGNALS.get(observed.signal, f'signal {observed.signal}')}"
    return "its terminal is gone, as after a restart or a checkpoint"
