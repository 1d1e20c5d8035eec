"""Terminals that outlive this process: a tmux server of the agent, driven through one control-mode connection.

All panes live in one tmux session, one window each, because a control client hears only of the session it is attached to. The server
is a process of the agent like any other, started on first use; when this process ends it goes on, and the next one attaches again.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.shells.terminal_screen import STATE_FORMAT, ScreenState, TerminalScreen, trimmed
from sandbox_server.drivers.shells.tmux_connection import RETRY_AFTER, TmuxConnection, TmuxGone, TmuxReply, in_time, together
from sandbox_server.drivers.shells.tmux_control import ControlReply, PaneOutput, TmuxNotification, keys, quote
from sandbox_server.drivers.spawn.process import LOST, Exit, Processes

CONFIGURATION = str(Path(__file__).parent / "setup" / "tmux.conf")
SESSION = "tandem"
MAX_DIGITS = 5
"""Of a number that tmux says of a terminal."""
TRIES = 3
"""How often at most something is asked of connections that end before they have answered anything."""
PAUSED = "this shell is paused with the agent: resume the agent, or open another shell"

_log = logging.getLogger(__name__)
_OPENED = "#{window_id} #{pane_id} #{pane_pid}"
_DEATH = "#{pane_id} #{pane_pid} #{pane_dead},#{pane_dead_status},#{pane_dead_signal}"


class TmuxRefused(Unavailable):
    """tmux answered a command with an error."""


class PaneListener(Protocol):
    """Who hears of a pane. The calls come in the order in which things happened."""

    def output(self, data: bytes) -> None:
        """A program wrote these bytes."""

    def ended(self, observed: Exit) -> None:
        """The pane's process is over, as tmux saw it end; lost when the server went too."""

    def missed(self) -> None:
        """The connection was lost for a while: output may be missing here."""


@dataclass(frozen=True, slots=True)
class PaneStart:
    """What runs in a pane, and where; a `cwd` that does not exist becomes the home directory."""

    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str]

    def words(self) -> str:
        """The arguments of new-window."""
        options = [f"-e {quote(f'{name}={value}')}" for name, value in self.environment.items()]
        return " ".join([f"-c {quote(self.cwd)}", *options, "--", *map(quote, self.argv)])


class Pane:
    """One terminal."""

    def __init__(self, tmux: "Tmux", window: str, pane: str, pid: int) -> None:
        self.id = pane
        self.window = window
        self.pid = pid
        """Of the process that was started in it."""
        self.closed = False
        """Whether the terminal is gone."""
        self._tmux = tmux

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._tmux.paused

    def type(self, data: bytes) -> Awaitable[object]:
        """Give bytes to the terminal as if they were typed, in order with other calls; await it to know that they were.

        Raises Unavailable, at once or when it is awaited.
        """
        return self._tmux.tell(keys(self.id, data))

    async def resize(self, columns: int, rows: int) -> None:
        """Make the terminal this large, whoever looks at it."""
        await self._tmux.ask(f"resize-window -t {self.window} -x {columns} -y {rows}")

    async def capture(self, taken: Callable[[TerminalScreen], None] = lambda _: None) -> TerminalScreen:
        """Read the screen with everything above it.

        `taken` is called between the bytes that the picture shows and those that come after it.
        """
        return await self._tmux.picture(self.id, taken)

    async def replace(self, other: "Pane") -> None:
        """Become as large as another terminal, and close that.

        To start a process in it again is not safe: tmux (3.5a) counts on with what it had not told of the last one, and loses
        output of the next or dies of it.
        """
        with suppress(Unavailable):
            size = (await self._tmux.ask(f"display-message -p -t {other.window} '#{{window_width}} #{{window_height}}'"))[0].split()
            if len(size) == 2 and all(one.isdigit() and len(one) <= MAX_DIGITS for one in size):  # the fields are empty when it is gone
                await self.resize(int(size[0]), int(size[1]))
        await other.close()

    async def close(self) -> None:
        """Close the terminal, which hangs up on what runs in it; twice does nothing."""
        if not self.closed:
            self._tmux.forget(self)
            with suppress(Unavailable):
                await self._tmux.ask(f"kill-window -t {self.window}")


class Tmux:
    """The tmux server of the agent. Its socket is in `directory`, which only the agent may enter.

    While it stands still, by `paused`, nothing is asked of it: what is refused at once would else take it for gone.
    """

    def __init__(
        self, processes: Processes, directory: str, paused: Callable[[], bool] = lambda: False, *, socket_name: str = "tmux.sock"
    ) -> None:
        self._processes = processes
        self._is_paused = paused
        self._socket = f"{directory}/{socket_name}"
        self._connection: TmuxConnection | None = None
        self._connecting = asyncio.Lock()
        self._panes: dict[str, tuple[Pane, PaneListener]] = {}
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        self._panes.clear()
        if self._connection:
            await self._connection.finish()

    @property
    def paused(self) -> bool:
        """Whether the server and what runs in it stand still."""
        return self._is_paused()

    async def open(self, spawn: PaneStart, listener: PaneListener) -> Pane:
        """Open a terminal and start a process in it; `listener` hears everything from its first byte on.

        Raises Unavailable when tmux cannot be started or does not answer.
        """
        opened: list[Pane] = []

        def register(reply: ControlReply) -> None:
            if not reply.failed:
                window, pane, pid = reply.lines[0].decode().split()
                opened.append(Pane(self, window, pane, int(pid)))
                self.listen(opened[0], listener)

        await self.ask(f"new-window -d -P -F '{_OPENED}' -t {SESSION}: -n open {spawn.words()}", register)
        return opened[0]

    async def adopt(self, pane: str, pid: int, listener: PaneListener) -> Pane | None:
        """Take over a terminal that an earlier process opened and in which it started process `pid`; None when it is gone.

        A terminal whose process has ended says so to the listener.
        """
        try:
            lines = await self.ask(f"display-message -p -t {pane} '#{{window_id}} {_DEATH}'")
        except TmuxRefused:
            return None
        fields = b" ".join(lines[:1]).decode("utf-8", "replace").split()
        if len(fields) != 4 or fields[1:3] != [pane, str(pid)]:  # tmux answers with empty fields for a pane that is not there
            return None
        adopted = Pane(self, fields[0], pane, pid)
        self.listen(adopted, listener)
        self._died(pane, fields[3])
        return adopted

    def listen(self, pane: Pane, listener: PaneListener) -> None:
        """Tell a listener of a terminal from now on."""
        known = self._panes.get(pane.id)
        if known and known[0].pid != pane.pid:  # of a server that has died: the next one counts from the beginning
            self._gone(*known)
        self._panes[pane.id] = (pane, listener)

    def forget(self, pane: Pane) -> None:
        """Stop telling of a terminal, which is gone."""
        pane.closed = True
        self._panes.pop(pane.id, None)

    def ended(self) -> None:
        """Take the end of the server with all its terminals, where that is known before it is heard: it ends with its box."""
        if self._connection:
            self._connection.forsake()
        for pane, listener in list(self._panes.values()):
            self._gone(pane, listener)

    async def ask(self, command: str, answered: Callable[[ControlReply], None] = lambda _: None) -> list[bytes]:
        """Run one tmux command and give the lines it prints.

        `answered` is called in order with output and notices. Raises Unavailable when tmux refuses it, is gone or does not answer.
        """
        reply = await self._reply(command, answered)
        if reply.failed:
            raise TmuxRefused(f"tmux refused: {b' '.join(reply.lines).decode('utf-8', 'replace')}")
        return list(reply.lines)

    async def _reply(self, command: str, answered: Callable[[ControlReply], None]) -> ControlReply:
        """Ask, and again where the connection was new: whoever finds a server that is just ending, ends with it."""
        tries = 0
        while True:
            tries += 1
            connection = await self._connected()
            try:
                return await in_time(connection, connection.ask(command, answered))
            except TmuxGone:
                if connection.answered or tries == TRIES:
                    raise

    def tell(self, commands: Sequence[str]) -> Awaitable[object]:
        """Run tmux commands on the open connection; raises Unavailable when there is none, and when it is awaited as `ask` does."""
        connection = self._connection
        if self.paused:
            raise Unavailable(PAUSED, retry_after=RETRY_AFTER)
        if connection is None or connection.closed:
            raise Unavailable("the terminals are being connected again", retry_after=RETRY_AFTER)
        return TmuxReply(connection, together([connection.ask(command, lambda _: None) for command in commands]))

    async def picture(self, pane: str, taken: Callable[[TerminalScreen], None]) -> TerminalScreen:
        """See `Pane.capture`; the questions go out in one piece so that nothing changes between them."""
        connection = await self._connected()
        screens: list[TerminalScreen] = []
        parts: list[ControlReply] = []

        def last(reply: ControlReply) -> None:
            parts.append(reply)
            if not any(part.failed for part in parts):
                state, (lines, main) = ScreenState.parse(parts[0].lines[0]), (trimmed(part.lines) for part in parts[1:3])
                screens.append(TerminalScreen(state, lines, main, b"\n".join(parts[3].lines)))
                taken(screens[0])

        questions = [
            connection.ask(f"display-message -p -t {pane} '{STATE_FORMAT}'", parts.append),
            connection.ask(f"capture-pane -p -e -N -q -t {pane} -S - -E -", parts.append),
            connection.ask(f"capture-pane -p -e -N -q -a -t {pane}", parts.append),
            connection.ask(f"capture-pane -p -P -C -q -t {pane}", last),
        ]
        await in_time(connection, together(questions))
        if not screens:
            raise Unavailable("the terminal is gone")
        return screens[0]

    async def _connected(self) -> TmuxConnection:
        if self.paused:
            raise Unavailable(PAUSED, retry_after=RETRY_AFTER)
        async with self._connecting:
            if self._connection is None or self._connection.closed:
                if self._connection:
                    await self._connection.abandon()  # tmux ends when it is hung up on; what is in its place may not
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> TmuxConnection:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        argv = ["tmux", "-u", "-S", self._socket, "-f", CONFIGURATION, "-C", "new-session", "-A", "-s", SESSION, "-n", "keeper", "true"]
        with theirs:
            fd = theirs.fileno()
            try:
                process = await self._processes.start(argv, stdin=fd, stdout=fd, stderr=fd, on_disconnect="kill")
            except BaseException:
                ours.close()
                raise
        made = await asyncio.get_running_loop().create_connection(lambda: TmuxConnection(process, self._hear, self._lost), sock=ours)
        return made[1]

    def _hear(self, event: PaneOutput | TmuxNotification) -> None:
        if isinstance(event, PaneOutput):
            known = self._panes.get(event.pane)
            if known:
                known[1].output(event.data)
        elif event.name == "window-renamed" and event.arguments.endswith(" ended"):
            window = event.arguments.partition(" ")[0]
            for pane, _ in list(self._panes.values()):
                if pane.window == window:
                    self._tasks.start(self._look_after(pane))

    async def _look_after(self, pane: Pane) -> None:
        """Ask how a pane ended: anyone may give a window a name."""

        def answered(reply: ControlReply) -> None:
            fields = b" ".join(reply.lines).decode("utf-8", "replace").split()
            if not reply.failed and fields[0] == pane.id:  # the fields are empty when the pane has been closed
                self._died(pane.id, fields[2])

        with suppress(Unavailable):
            await self.ask(f"display-message -p -t {pane.id} '{_DEATH}'", answered)

    def _died(self, pane: str, death: str) -> None:
        dead, code, signal = [*death.split(","), "", "", ""][:3]
        if any(one and not (one.isascii() and one.isdecimal() and len(one) <= MAX_DIGITS) for one in (code, signal)):
            code = signal = ""  # tmux says no such thing
        if dead == "1" and pane in self._panes:
            self._panes[pane][1].ended(Exit(int(code) if code else None, int(signal) if signal else None))

    def _lost(self) -> None:
        if self._panes:
            self._tasks.start(self._attach_again())

    async def _attach_again(self) -> None:
        try:
            await self.ask(f"list-panes -s -t {SESSION} -F '{_DEATH}'", self._found)
        except (Failure, OSError):
            if self.paused:  # whoever asks once it goes on connects again
                return
            _log.exception("the tmux server cannot be reached")
            self._found(ControlReply((), failed=True))

    def _found(self, reply: ControlReply) -> None:
        """Compare what there is with what there was; a terminal that is opened later is not meant."""
        lines = () if reply.failed else reply.lines
        found = {pane: (int(pid), death) for pane, pid, death in (line.decode().split() for line in lines)}
        for pane, listener in list(self._panes.values()):
            if found.get(pane.id, (0, ""))[0] != pane.pid:
                self._gone(pane, listener)
                continue
            listener.missed()
            self._died(pane.id, found[pane.id][1])

    def _gone(self, pane: Pane, listener: PaneListener) -> None:
        self.forget(pane)
        listener.ended(LOST)
