"""Interactive shells: bash in a terminal, with what it says of itself told apart from its output.

`setup/bashrc` is the other half: it says when commands start and end (`marks`) and takes them from a file (`commands`).
"""

import secrets
import signal as signals
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from sandbox_server.core.errors import Failure, PermissionDenied, Unavailable
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.shells.commands import CommandFile, Recall, ShellCommand
from sandbox_server.drivers.shells.meanwhile import MeanwhileServers
from sandbox_server.drivers.shells.proc_fields import FIELDS
from sandbox_server.drivers.shells.shell_integration import Mark, MarkParser
from sandbox_server.drivers.shells.terminal_screen import TerminalScreen
from sandbox_server.drivers.shells.tmux import Pane, PaneStart, Tmux
from sandbox_server.drivers.shells.waiting_program import WaitingProgram, waiting_program
from sandbox_server.drivers.spawn.process import Exit, Processes
from sandbox_server.timeouts import scaled

BASHRC = str(Path(__file__).parent / "setup" / "bashrc")
WORD = b" __t\r"
"""What is typed to have the shell take its next command."""
_HEARD = b"\x1e"
"""What is typed to let a shell go that is about to exit."""
_DISCARD_LINE = b" \x05\x15"
"""Keys that leave the line empty; on one that is empty they do not ring the bell."""
_SIGNAL_SECONDS = scaled(20.0)

# The terminal's foreground process group and the shell's own are among them. gVisor leaves the first out: there it is taken for the
# session's latest group, and the shell is always interrupted, which may be what has the terminal.
_SIGNAL = f"""{FIELDS}
latest() {{
    found=$2
    for entry in /proc/[0-9]*; do
        fields_of "${{entry#/proc/}}" || continue
        set -- "$1" "$2" $fields
        if [ "$3" != Z ] && [ "$6" = "$1" ] && [ "$5" -gt "$found" ]; then found=$5; fi
    done
    echo "$found"
}}
fields_of "$1" || exit 3
set -- "$1" "$2" $fields
front=$8
[ "$front" -gt 0 ] || front=$(latest "$6" "$5")
if [ "$front" = "$5" ]; then echo shell; else echo group; fi
[ "$2" = none ] && exit
[ "$front" = "$5" ] && exec kill -s "$2" "$1"
kill -s "$2" -- "-$front"
[ "$8" -gt 0 ] && [ "$2" = INT ] || kill -s INT "$1"
"""
_KILL_SHELL = 'kill -s KILL "$1"'

# The shell goes first, which then starts nothing more. What it has just started may be in no process group of its own yet.
_KILL_SESSION = f"""{FIELDS}
ignores_hang_ups() {{
    while read -r name value; do
        case $name$value in SigIgn:*[13579bdf]) return 0 ;; esac
    done 2>/dev/null < "/proc/$1/status"
    return 1
}}
fields_of "$1" || exit 3
set -- "$1" $fields
session=$5
[ "$7" -gt 0 ] && kill -s KILL -- "-$7"
kill -s KILL "$1"
for round in 1 2 3; do
    left=
    for entry in /proc/[0-9]*; do
        pid=${{entry#/proc/}}
        fields_of "$pid" || continue
        set -- $fields
        if [ "$4" = "$session" ] && [ "$1" != Z ] && ! ignores_hang_ups "$pid" && kill -s KILL "$pid"; then left=1; fi
    done
    [ "$left" ] || exit 0
done
"""

type Foreground = Literal["shell", "group", "gone"]
"""Who has the terminal: the shell itself, another process group, or nobody because the shell is gone."""


class ShellListener(Protocol):
    """Who hears of a shell. The calls come in the order in which things happened."""

    def output(self, data: bytes) -> None:
        """Bytes for the terminal, without marks."""

    def marked(self, mark: Mark) -> None:
        """The shell said something of itself."""

    def ended(self, observed: Exit) -> None:
        """The shell is over; lost when nobody saw how."""

    def missed(self) -> None:
        """Output and marks may be missing here: `LiveShell.recall` says what became of a command."""


@dataclass(frozen=True, slots=True)
class ShellKey:
    """What has to be remembered to take a shell over: where its files are, its nonce, its terminal and its process."""

    name: str
    nonce: str
    pane: str
    pid: int


@dataclass(frozen=True, slots=True)
class ShellStart:
    """Where a shell starts, how a link in that path is taken, and what is added to its environment.

    `variables` are what another shell exported, as `LiveShell.variables` gave them.
    """

    directory: str
    links: Literal["follow", "keep"] = "follow"
    environment: Mapping[str, str] | None = None
    variables: bytes = b""
    screen: bytes = b""
    """What it shows first."""
    bare: bool = False
    """Whether the account's start-up files are left out."""


class LiveShell:
    """One bash in one terminal."""

    def __init__(self, name: str, nonce: str, file: CommandFile, listener: ShellListener, processes: Processes) -> None:
        self.pane: Pane | None = None
        self._name = name
        self._nonce = nonce
        self._file = file
        self._listener = listener
        self._processes = processes
        self._marks = MarkParser(nonce)
        self._left = False

    @property
    def key(self) -> ShellKey:
        """What `TmuxShells.adopt` needs."""
        return ShellKey(self._name, self._nonce, self._opened.id, self._opened.pid)

    @property
    def _opened(self) -> Pane:
        if self.pane is None:
            raise Unavailable("the shell is not open yet")
        return self.pane

    @property
    def paused(self) -> bool:
        """Whether it stands still with the agent's other programs."""
        return self.pane is not None and self.pane.paused

    async def run(self, command: ShellCommand) -> None:
        """Have the shell, which is at its prompt, run a command, and drop what is on the line there.

        Somebody may have typed that, or the terminal: it answers whatever asks it, and what asked may have ended (`printf '\\e[c'`).

        That it started is told by a `start` mark. Unavailable says that it may or may not have started: `recall` knows.
        """
        await self._file.write(command)
        await self._opened.type(_DISCARD_LINE + WORD)

    async def run_again(self, command: ShellCommand) -> None:
        """Run a command whose file the shell could not read: somebody has deleted it."""
        await self._file.create(command.encode())
        await self._opened.type(_DISCARD_LINE + WORD)

    async def withdraw(self) -> None:
        """Take back a command that did not start."""
        await self._file.withdraw()

    def type(self, data: bytes) -> Awaitable[object]:
        """Type bytes, whoever reads them; see `Pane.type`."""
        return self._opened.type(data)

    async def resize(self, columns: int, rows: int) -> None:
        """Make the terminal this large."""
        await self._opened.resize(columns, rows)

    async def capture(self, taken: Callable[[TerminalScreen], None] = lambda _: None) -> TerminalScreen:
        """See `Pane.capture`; what may become a mark is not in the picture, but comes after it where it is none."""
        screens: list[TerminalScreen] = []

        def unmarked(screen: TerminalScreen) -> None:
            screens.append(replace(screen, pending=b"") if self._marks.holds else screen)
            taken(screens[0])

        await self._opened.capture(unmarked)
        return screens[0]

    async def waiting(self) -> WaitingProgram | None:
        """Find the program that waits for input from its terminal, if any, and if the kernel tells. One that stands still does not wait."""
        return None if self.paused else await waiting_program(self._processes, self._opened.pid)

    async def recall(self) -> Recall:
        """Read what the shell has written down."""
        return await self._file.recall()

    async def variables(self) -> bytes:
        """Read what the shell exported when it was last at its prompt, to be declared by another."""
        return await self._file.variables()

    async def signal(self, number: signals.Signals | None) -> Foreground:
        """Signal who has the terminal, with None nobody; tells who that is.

        Where that is not the shell, anything but an interrupt also interrupts the shell: it may be in a loop, about to start the next one.
        """
        name = number.name.removeprefix("SIG") if number else "none"
        return await self._signal(_SIGNAL, name)

    async def kill(self) -> None:
        """Kill the shell itself."""
        await self._signal(_KILL_SHELL, "none")

    async def kill_session(self) -> None:
        """Kill who has the terminal, the shell itself, and all that it has started, but for what ignores hang-ups (`nohup`)."""
        await self._signal(_KILL_SESSION, "none")

    async def close(self) -> None:
        """End the shell, close its terminal and delete its files."""
        if self.pane:
            await self.pane.close()
        await self.discard()

    async def discard(self) -> None:
        """Delete the files of a shell that has ended."""
        try:
            await self._file.remove()
        except Failure:  # the agent may have put anything in their place
            self._file.close()

    def leave(self) -> None:
        """Stop looking after the shell, which goes on."""
        self._file.close()

    async def _signal(self, script: str, name: str) -> Foreground:
        argv = ["sh", "-c", script, "sh", str(self._opened.pid), name]
        try:  # what runs under sudo is root's
            done = await self._processes.run(argv, user="root", cwd="/", timeout=_SIGNAL_SECONDS, max_output=100)
        except PermissionDenied:
            done = await self._processes.run(argv, cwd="/", timeout=_SIGNAL_SECONDS, max_output=100)
        return "shell" if done.stdout.startswith(b"shell") else "group" if done.stdout.startswith(b"group") else "gone"

    def output(self, data: bytes) -> None:
        """Take bytes of the terminal (`PaneListener`)."""
        for part in self._marks.feed(data):
            if self._left:
                return  # the echo of `_HEARD`
            if not isinstance(part, Mark):
                self._listener.output(part)
            else:
                self._listener.marked(part)
                if part.kind == "leave":
                    self._leave()

    def _leave(self) -> None:
        self._left = True
        if self.pane:
            with suppress(Unavailable):
                self.pane.type(_HEARD)

    def ended(self, observed: Exit) -> None:
        """Take the end of the shell (`PaneListener`)."""
        self._listener.ended(observed)

    def missed(self) -> None:
        """Take note of a gap (`PaneListener`)."""
        self._marks = MarkParser(self._nonce)
        self._listener.missed()


class TmuxShells:
    """Opens shells of the agent. Their files are in `directory`, which only the agent may enter.

    While `tmux` stands still with the rest of the agent's programs, a shell is opened in one of `meanwhile`.
    """

    def __init__(self, processes: Processes, files: Files, tmux: Tmux, directory: str, meanwhile: MeanwhileServers | None = None) -> None:
        self._meanwhile = meanwhile
        self._processes = processes
        self._files = files
        self._tmux = tmux
        self._directory = directory

    async def open(self, listener: ShellListener, start: ShellStart) -> LiveShell:
        """Open a shell; its first `ready` mark says that it takes commands. Raises Unavailable."""
        shell = await self._prepare(listener, start)
        tmux = self._meanwhile.server() if self._meanwhile and self._tmux.paused else self._tmux
        shell.pane = await tmux.open(self._spawn(shell, start), shell)
        return shell

    async def reopen(self, ended: LiveShell, listener: ShellListener, start: ShellStart) -> LiveShell:
        """Open a shell in place of one that ended, in a terminal of the same size."""
        shell = await self.open(listener, start)
        if ended.pane and shell.pane:
            await shell.pane.replace(ended.pane)
        await ended.discard()
        return shell

    def ended(self) -> None:
        """Take the end of every shell: they ended with their box."""
        self._tmux.ended()
        if self._meanwhile:
            self._meanwhile.ended()

    async def adopt(self, key: ShellKey, listener: ShellListener) -> LiveShell | None:
        """Take over a shell that an earlier process opened; None when its terminal is gone."""
        shell = self._make(key.name, key.nonce, listener)
        shell.pane = await self._tmux.adopt(key.pane, key.pid, shell)
        return shell if shell.pane else None

    async def _prepare(self, listener: ShellListener, start: ShellStart) -> LiveShell:
        shell = self._make(secrets.token_hex(8), secrets.token_hex(16), listener)
        if start.variables:
            await shell._file.leave_variables(start.variables)
        if start.screen:
            await shell._file.leave_screen(start.screen)
        await shell._file.create(shell._nonce.encode() + b"\n")
        return shell

    def _make(self, name: str, nonce: str, listener: ShellListener) -> LiveShell:
        return LiveShell(name, nonce, CommandFile(self._files, f"{self._directory}/{name}"), listener, self._processes)

    def _spawn(self, shell: LiveShell, start: ShellStart) -> PaneStart:
        environment = {
            **self._processes.environment,
            "TANDEM_SHELL": shell._file.path,
            "TANDEM_DIRECTORY": start.directory,
            "TANDEM_LINKS": "-L" if start.links == "keep" else "-P",
            **({"TANDEM_BARE": "1"} if start.bare else {}),
            **(start.environment or {}),
        }
        return PaneStart(["bash", "--rcfile", BASHRC], "/", environment)
