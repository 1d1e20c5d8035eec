"""A session: its shell, the commands that run there one after the other, and how they are stopped."""

import asyncio
import signal as signals
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from sandbox_server.core import Conflict, Failure, InvalidArgument, NotFound, Tasks, Unavailable
from sandbox_server.drivers.session_table import LastUse
from sandbox_server.drivers.shells.commands import ShellCommand
from sandbox_server.drivers.shells.shell_integration import Mark
from sandbox_server.drivers.shells.shells import Foreground, LiveShell, ShellStart, TmuxShells
from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.process import LOST, Exit
from sandbox_server.features.shell.command import BashCommandStatus, RunningCommand
from sandbox_server.features.shell.session_profile import ShellProfile
from sandbox_server.features.shell.state import ShellState, describe_exit
from sandbox_server.timeouts import scaled

OPEN_SECONDS = scaled(10.0)
"""How long a new shell may take to show its prompt: the account's start-up files run first."""
PROMPT_SECONDS = scaled(1.0)
"""How long a shell whose last command has ended may take to show its prompt again."""
BEGIN_SECONDS = scaled(10.0)
"""How long a shell at its prompt may take to begin a command."""
STOP_GRACE = 1.0
"""Seconds between one way of stopping a command and the next, harder one."""
RECALL_SECONDS = 1.0
"""After how long what a shell wrote down is read again, where it could not be."""
MAX_COMMANDS = 16
"""Commands of a session that are remembered."""
WHOLE_COMMANDS = 2
"""Of them, the latest whose whole output is kept."""

# A pager would wait for keys that no agent knows of; a person's own session has them.
AGENT_ENVIRONMENT = {"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat"}
_WAIT = "wait for it with /v1/shell/wait, end it with /v1/shell/kill, or use another session"
_LOOK = "look at it with /v1/shell/view, end it with /v1/shell/kill, or use another session"
_STEPS = (signals.SIGINT, signals.SIGTERM, signals.SIGKILL)


class ShellSession:
    """One session; it hears its shell (`ShellListener`).

    `changed` is called when there is something new to remember of it, `freed` when it may have become idle.
    """

    def __init__(
        self, profile: ShellProfile, shells: TmuxShells, tasks: Tasks, changed: Callable[[], None], freed: Callable[[], None] = lambda: None
    ) -> None:
        self.profile = profile
        self.state = ShellState(freed)
        self.shell: LiveShell | None = None
        self.commands: dict[str, RunningCommand] = {}
        self._last_use = LastUse(profile.created_at.timestamp())
        self.reserved = False
        """Whether a command is on its way to this session."""
        self.people = 0
        """Terminals of people that show it."""
        self.made_room: str | None = None
        """What was closed for it, in a sentence."""
        self.closed = False
        self.inherited = b""
        """What the next shell exports, as `variables` gave it."""
        self.inherited_screen = b""
        """What the next shell shows first."""
        self._shells = shells
        self._tasks = tasks
        self._changed = changed
        self._freed = freed
        self._opening = asyncio.Lock()
        self._stopping = asyncio.Lock()

    @property
    def id(self) -> str:
        """The session's name."""
        return self.profile.id

    @property
    def opening(self) -> bool:
        """Whether its shell is being opened."""
        return self._opening.locked()

    @property
    def idle(self) -> bool:
        """Whether a command could have it: nothing runs in it or is on its way. A shell that has ended opens again."""
        return not (self.closed or self.reserved or self.opening or self.state.busy)

    @property
    def latest(self) -> RunningCommand | None:
        """The command that runs, or the last that ran."""
        return next(reversed(self.commands.values()), None)

    @property
    def status(self) -> BashCommandStatus:
        """Of what runs, or of what ran last."""
        return self.state.status(self.latest)

    @property
    def started(self) -> LiveShell:
        """The shell, running or ended; raises Unavailable before there is one."""
        if self.shell is None:
            raise Unavailable(f"the shell of session {self.id!r} is not open", session_id=self.id)
        return self.shell

    @property
    def last_used_at(self) -> datetime:
        """When it was used last, by the machine's clock."""
        return datetime.fromtimestamp(self._last_use.at, UTC)

    @property
    def idle_seconds(self) -> float:
        """Seconds since then."""
        return self._last_use.seconds_ago

    def touch(self) -> None:
        """Note that the session is in use."""
        self._last_use.touch()

    def release(self) -> None:
        """Take it that no command is on its way any more."""
        self.reserved = False
        self._freed()

    async def open(self, start: ShellStart) -> None:
        """Open the first shell; nothing happens when there is one. Raises Unavailable when it does not come to a prompt."""
        async with self._opening:
            if self.shell is None and self.state.over is None:
                try:
                    self.shell = await self._shells.open(self, self._adapted(start))
                    await self._until_prompt()
                except Unavailable:
                    if not self.profile.by_person or self.shell is None or self.closed:
                        raise
                    await self._open_bare(self.shell, start)

    async def _open_bare(self, failed: LiveShell, start: ShellStart) -> None:
        """Open the shell without the account's start-up files: whoever wrote those, a person gets in."""
        await failed.close()
        self.state.over, self.state.ready = None, False
        self.shell = await self._shells.open(self, self._adapted(replace(start, bare=True)))
        await self._until_prompt()

    async def opened(self) -> None:
        """Wait until another caller has opened the session. Raises NotFound when that failed or the session is closed."""
        async with self._opening:
            if self.closed or (self.shell is None and self.state.over is None):
                raise NotFound("Session not found")

    async def reopen(self) -> str | None:
        """Open the shell again where it has ended; gives the sentence that says so. Raises NotFound once the session is closed."""
        async with self._opening:
            if self.closed:
                raise NotFound("Session not found")
            over = self.state.over
            if over is None:
                return None
            self.state.over = None
            variables, self.inherited = self.inherited, b""
            screen, self.inherited_screen = self.inherited_screen, b""
            start = self._adapted(ShellStart(self.state.directory or "/", "keep", variables=variables, screen=screen))
            try:
                self.shell = await (self._shells.reopen(self.shell, self, start) if self.shell else self._shells.open(self, start))
                await self._until_prompt()
            except BaseException:
                self.inherited, self.inherited_screen = variables, screen
                self.state.over = self.state.over or over
                if self.closed and self.shell:  # meanwhile
                    await self.shell.close()
                raise
        return (
            f"the session's shell had ended ({describe_exit(over)}): a new one was opened in {self.state.directory}, "
            f"{'with the exported variables and without the jobs' if variables else 'without the variables and jobs'} of the old one"
        )

    async def variables(self) -> bytes:
        """Read what the shell exports, for the one that takes its place; nothing where it has ended.

        While a command runs, that is what the shell exported before it.
        """
        if not self.state.busy:
            await self.state.until_ready(PROMPT_SECONDS)  # it writes that down before its prompt
        return await self.shell.variables() if self.shell and not self.state.over else b""

    async def adopt(self, shell: LiveShell | None, directory: str) -> None:
        """Go on with a shell that an earlier process opened; None when that is gone."""
        self.state.directory = directory
        self.shell = shell
        if shell is None:
            self.state.over = LOST
        elif self.state.over is None:
            await self._recall()

    async def run(self, request: ShellCommand, hard_timeout: float | None = None) -> RunningCommand:
        """Run a command; it has begun when this returns.

        Raises Conflict while something else runs or reads the keys, and Unavailable: then the command has not run and will not.
        """
        self._use()
        if running := self.state.running:
            raise self._busy(f"is running a command since {running.created_at:%Y-%m-%dT%H:%M:%SZ}: {running.text[:200]}")
        self.state.note_input(by_person=False)
        command = self.state.running = RunningCommand(request.text, request.token)
        try:
            await self._give(request, command)
        except BaseException:
            if command.begun:  # the caller has gone, the command has not
                self._remember(command)
            elif self.state.running is command:
                self.state.running = None
            raise
        self._remember(command)
        self.touch()
        if hard_timeout is not None:
            self._tasks.start(self._limit(command, hard_timeout), name=f"time limit of {command.token}")
        return command

    async def stop(self, reason: BashCommandStatus) -> None:
        """Stop what runs: interrupt it, then terminate it, then kill it, and the shell last."""
        state, target = self.state, self.state.running
        if target:
            target.stopping = reason

        def stopped() -> bool:
            return target.ended if target else not state.foreign

        async with self._stopping:  # the next command waits: a signal still under way would hit it
            for number in _STEPS:
                if stopped():
                    return
                await self.started.signal(number)
                if await state.until(stopped, STOP_GRACE):
                    return
            await self.started.kill()
            if not await state.until(stopped, STOP_GRACE):
                state.ended(LOST)

    def type(self, data: bytes) -> Awaitable[object]:
        """Type bytes at the terminal, whoever reads them; await it to know that they were typed.

        Raises Conflict when the shell has ended, and Unavailable.
        """
        if self.state.over:
            raise Conflict(f"the shell of session {self.id!r} has ended", hint="the next exec opens it again", session_id=self.id)
        self._use()
        return self.started.type(data)

    async def resize(self, columns: int, rows: int) -> None:
        """Make the terminal this large for everyone who looks at it."""
        await self.started.resize(columns, rows)
        for viewer in list(self.state.viewers):
            viewer.stale()

    async def close(self) -> None:
        """End the session with its shell and all that runs in it."""
        busy = self.state.busy
        self.closed = True
        self.state.close()
        if self.shell:
            if busy:  # bash may overlook a hang-up while it starts a program, and a program may ignore it
                with suppress(Failure):
                    await self.shell.kill_session()
            await self.shell.close()

    def output(self, data: bytes) -> None:
        """Take bytes of the terminal (`ShellListener`)."""
        self.state.output(data)

    def marked(self, mark: Mark) -> None:
        """Take what the shell says of itself (`ShellListener`)."""
        self.state.marked(mark)

    def ended(self, observed: Exit) -> None:
        """Take the end of the shell (`ShellListener`)."""
        self.state.ended(observed)

    def missed(self) -> None:
        """Find out what happened while nobody listened (`ShellListener`)."""
        for viewer in list(self.state.viewers):
            viewer.stale()
        self._tasks.start(self._catch_up(), name=f"recall of session {self.id}")

    def _use(self) -> None:
        if not self.profile.used:
            self.profile.used = True
            self._changed()

    async def _give(self, request: ShellCommand, command: RunningCommand) -> None:
        async with self._stopping:
            command.add_hint(await self.reopen())
        if self.state.foreign and await self._foreground() == "group":
            raise self._busy("runs something that was typed at its terminal", _LOOK)
        await self.state.until_ready(PROMPT_SECONDS)
        command.ps1 = self.state.ps1
        try:
            with suppress(Unavailable):  # the connection broke: whether it was typed shows when it is back
                await self.started.run(request)
            await self._begun(command, strict=request.strict)
            if command.unread:
                command.unread = False
                await self.started.run_again(request)
                await self._begun(command, strict=request.strict)
        finally:
            if not command.begun and not command.ended:
                await self._withdraw(command)
        if command.nowhere and request.strict:
            raise InvalidArgument(f"exec_dir {request.directory!r} does not exist or cannot be entered", exec_dir=request.directory)
        if command.nowhere:
            command.add_hint(f"exec_dir {request.directory!r} does not exist or cannot be entered: the command runs where the session was")
        if not command.begun and not command.ended:
            raise self._busy("did not take the command: something else reads its keys", _LOOK)

    async def _withdraw(self, command: RunningCommand) -> None:
        """Take back a command of which no start was seen, unless it has started after all."""
        await self.started.withdraw()
        if (await self.started.recall()).begun == command.token:
            command.begin()

    async def _begun(self, command: RunningCommand, *, strict: bool) -> None:
        await self.state.until(lambda: command.begun or command.ended or command.unread or (command.nowhere and strict), BEGIN_SECONDS)

    async def _until_prompt(self) -> None:
        if not await self.state.until_ready(OPEN_SECONDS):
            over = self.state.over
            how = describe_exit(over) if over else f"no prompt within {OPEN_SECONDS:g} s"
            raise Unavailable(f"the shell did not start: {how}", hint="~/.bashrc may end it or hold it up", session_id=self.id)
        self._changed()

    def _adapted(self, start: ShellStart) -> ShellStart:
        usual = {} if self.profile.personal else AGENT_ENVIRONMENT
        return replace(start, environment={**usual, **(start.environment or {}), SESSION: f"shell:{self.id}"})

    def _busy(self, what: str, hint: str = _WAIT) -> Conflict:
        return Conflict(f"session {self.id!r} {what}", hint=hint, session_id=self.id)

    def _remember(self, command: RunningCommand) -> None:
        self.commands[command.token] = command
        while len(self.commands) > MAX_COMMANDS:
            del self.commands[next(iter(self.commands))]
        for old in list(self.commands.values())[:-WHOLE_COMMANDS]:
            old.capture.fold()

    async def _limit(self, command: RunningCommand, hard_timeout: float) -> None:
        await command.settle(hard_timeout)
        if not command.ended:
            await self.stop("hard_timeout")

    async def _foreground(self) -> Foreground:
        try:
            return await self.started.signal(None)
        except Failure:
            return "gone"

    async def _catch_up(self) -> None:
        """Recall what was missed, and again where the files cannot be read just now: nothing else would end a command that has ended."""
        while not (self.closed or self.state.over):
            with suppress(Failure):
                await self._recall()
                break
            await asyncio.sleep(RECALL_SECONDS)

    async def _recall(self) -> None:
        """Compare what the shell was given with what it wrote down when it ended."""
        state = self.state
        recall = await self.started.recall()
        if recall.running and recall.given and state.running is None:
            state.running = RunningCommand(recall.given.text, recall.given.token)
            self._remember(state.running)
        if (command := state.running) and command.token == recall.begun:
            command.begin()
            command.add_hint("output that came while the server was away is missing: see /v1/shell/view")
        if recall.ended:
            state.directory = recall.ended.directory
            if command and command.token == recall.ended.token:
                state.finish(recall.ended.code)
        if state.running is None and state.over is None:
            state.foreign = await self._foreground() == "group"
            state.ready = not state.foreign
        state.turn_over()
