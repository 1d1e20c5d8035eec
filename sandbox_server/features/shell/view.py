"""A session's terminal as text: a picture of it, or what comes to it as events."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from sandbox_server.core import Event, EventTypes, Model, Unavailable
from sandbox_server.drivers.shells.terminal_screen import TerminalScreen
from sandbox_server.drivers.shells.waiting_program import InputKind, WaitingProgram
from sandbox_server.features.shell.command import BashCommandStatus
from sandbox_server.features.shell.follow import CHUNK, ShellGap, ShellOutputPiece, ShellPosition, gap_event, output_event
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.text import increment, plain, shorten


class ShellScreen(Model):
    """What the terminal shows."""

    session_id: str
    output: str
    """What the terminal shows, with what has scrolled away above; of a full-screen program, its screen."""
    status: BashCommandStatus
    """Of what runs now, or of what ran last."""
    hint: str | None
    offset: int
    """Bytes of output up to here."""
    seq: int
    """The same."""


class ShellClosed(Model):
    """The session is closed."""

    session_id: str
    status: BashCommandStatus
    """Of what ran last."""


GONE = "the terminal is gone: the next exec opens a new one"
EVENTS = EventTypes("ShellTerminalEvent", {"screen": ShellScreen, "output": ShellOutputPiece, "gap": ShellGap, "exit": ShellClosed})


class ShellCursor(Model):
    column: int
    """From 0 at the left."""
    row: int
    """From 0 at the top of the visible screen."""
    visible: bool


class ShellWaits(Model):
    """A program that waits for input."""

    pid: int
    program: str
    """Its name, at most 15 bytes."""
    kind: InputKind
    """What it reads: a `line`, a `hidden` line such as a password, or single `keys`."""
    prompt: str
    """The line that the cursor is on."""


class ShellTerminalState(Model):
    """The terminal beside its text."""

    columns: int
    rows: int
    alternate: bool
    """Whether a full-screen program is on its own screen, without history."""
    cursor: ShellCursor
    waits: ShellWaits | None
    """The program that waits for input; null if none does, or the kernel does not tell, as in gVisor."""


async def screen_text(session: ShellSession, *, truncate: bool) -> tuple[str, str | None]:
    """Give what the terminal shows with what is above it, and a sentence where that is not everything.

    Of a full-screen program it is the screen alone.
    """
    try:
        screen = await session.started.capture()
    except Unavailable:
        return "", GONE
    return await _shown(screen, truncate=truncate)


async def screen_and_state(session: ShellSession, *, truncate: bool) -> tuple[str, str | None, ShellTerminalState | None]:
    """Give the same, and the terminal's state; None if the terminal is gone."""
    try:
        waiting = await session.started.waiting() if session.state.busy else None
        screen = await session.started.capture()
    except Unavailable:
        return "", GONE, None
    return *await _shown(screen, truncate=truncate), _state(screen, waiting)


async def follow_terminal(session: ShellSession, position: ShellPosition | None) -> AsyncIterator[Event]:
    """Give a `screen` event, then `output` events until the session is closed; from a `position` on, the output since then."""
    watch = _TerminalWatch()
    session.state.viewers.add(watch)
    try:
        if position is None:
            position = ShellPosition(session.id, "", session.state.log.end)
            yield await _picture(session, position)
        while True:
            change = watch.change
            position = min(position, replace(position, offset=session.state.log.end), key=lambda place: place.offset)
            start, raw = session.state.log.read(position.offset, CHUNK)
            if start > position.offset or watch.missed:
                watch.missed = False
                yield gap_event(position, start)
                position = replace(position, offset=session.state.log.end)
                yield await _picture(session, position)
                continue
            text, used = increment(raw, last=watch.over)
            position = replace(position, offset=position.offset + used)
            if text:
                yield output_event(position, text)
            if watch.over:
                yield Event("exit", ShellClosed(session_id=session.id, status=session.status).model_dump(), str(position))
                return
            if not used:
                await asyncio.wait([change])
    finally:
        session.state.viewers.discard(watch)


async def _picture(session: ShellSession, position: ShellPosition) -> Event:
    output, hint = await screen_text(session, truncate=True)
    shown = ShellScreen(session_id=session.id, output=output, status=session.status, hint=hint, offset=position.offset, seq=position.offset)
    return Event("screen", shown.model_dump(), str(position))


async def _shown(screen: TerminalScreen, *, truncate: bool) -> tuple[str, str | None]:
    text = await asyncio.to_thread(_text, screen)
    hint = "older lines have left the terminal's memory" if screen.full and not screen.state.alternate else None
    return (shorten(text) if truncate else text), hint


def _state(screen: TerminalScreen, waiting: WaitingProgram | None) -> ShellTerminalState:
    (columns, rows), row = screen.state.size, screen.state["cursor_y"]
    waits = None
    if waiting:
        line = plain(b"".join(screen.visible[row : row + 1])).rstrip()
        waits = ShellWaits(pid=waiting.pid, program=waiting.program, kind=waiting.kind, prompt=line)
    return ShellTerminalState(
        columns=columns,
        rows=rows,
        alternate=screen.state.alternate,
        cursor=ShellCursor(column=screen.state["cursor_x"], row=row, visible=screen.state["cursor_flag"] == 1),
        waits=waits,
    )


def _text(screen: TerminalScreen) -> str:
    lines = screen.visible if screen.state.alternate else screen.lines
    return "\n".join(row.rstrip() for row in plain(b"\n".join(lines)).split("\n")).rstrip("\n")


class _TerminalWatch:
    """Wakes one reader when there is more (`Viewer`)."""

    def __init__(self) -> None:
        self.missed = False
        self.over = False
        self.change: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def output(self, data: bytes) -> None:
        changed, self.change = self.change, asyncio.get_running_loop().create_future()
        changed.set_result(None)

    def stale(self) -> None:
        self.missed = True
        self.output(b"")

    def closed(self) -> None:
        self.over = True
        self.output(b"")
