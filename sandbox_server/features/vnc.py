"""The desktop over VNC: a viewer sees it, and acts on it if it may."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from sandbox_server.core import Call, Caller, Failure, InvalidArgument, Private, ResourceExhausted, Socket, Unavailable, socket
from sandbox_server.core.control import Control
from sandbox_server.core.quota import NEEDED, Quota
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.vnc.messages import BadVncMessage, VncMessage
from sandbox_server.drivers.vnc.rights import INPUT, VncRights, means_to_act
from sandbox_server.drivers.vnc.server import PIECE_BYTES, RETRY_AFTER, Stream, VncServer
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.windows import X11Windows

MAX_VIEWERS = 32
PROGRAM_VIEWERS = 24
"""Limit of programs among the viewers."""
VIEWERS_OF_ONE = 16
"""Limit of viewers with one program's credential."""


class Vnc:
    """Carries RFB, the protocol of VNC, between viewers and the VNC server."""

    tag = "vnc"

    def __init__(self, server: VncServer, desktop: Desktop, control: Control) -> None:
        self._server = server
        self._desktop = desktop
        self._control = control
        self._places = Quota("VNC viewers", MAX_VIEWERS, programs=PROGRAM_VIEWERS, each=VIEWERS_OF_ONE)

    @socket("/websockify", scope="view", shows=True)
    async def view_desktop(self, socket: Socket, call: Call) -> None:
        """See and use the desktop with a VNC viewer: RFB in binary messages.

        Input, clipboard and size changes of a viewer without the scope `control` are dropped, and so are everyone's
        while someone else has control. A person's first key or click takes control from the agent, if the settings
        allow it.
        """
        rights, evicted = VncRights(control=call.caller.may("control")), asyncio.Event()
        place = self._places.take(call.caller.name, person=call.caller.person, leave=evicted.set)
        with place, self._control.watching(call.caller):
            try:
                async with self._server.connect() as stream:
                    seeing = VncViewerSocket(socket, lambda: self._check_seen(call.caller))
                    await _carry(seeing, VncInput(rights, call.caller, self._control, self._desktop.windows), stream, evicted)
            except Unavailable:
                if rights.pressing:  # the VNC server died, so what it held down is released here
                    await self._desktop.release_everything()
                raise

    def _check_seen(self, caller: Caller) -> None:
        if not self._control.sees(caller):
            raise Private("private mode: a person hides the screen")


class VncViewerSocket:
    """A viewer's socket while the viewer may see the screen: `check` raises Private once it may not."""

    def __init__(self, socket: Socket, check: Callable[[], None]) -> None:
        self._socket = socket
        self._check = check

    async def receive(self) -> str | bytes | None:
        """Return the viewer's next message; None once it has disconnected."""
        return await self._socket.receive()

    async def send(self, message: str | bytes) -> None:
        """Send a message, unless the viewer may not see the screen any more."""
        self._check()
        await self._socket.send(message)


class VncInput:
    """Filters a viewer's input by its scopes and by the lease."""

    def __init__(self, rights: VncRights, caller: Caller, control: Control, windows: X11Windows) -> None:
        self._rights = rights
        self._caller = caller
        self._control = control
        self._windows = windows

    async def pass_on(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """Forward the allowed part of these bytes. Raises BadVncMessage."""
        for message in self._rights.admitted(data):
            if message.kind not in INPUT:
                writer.write(message.body)
            elif await self._is_forwarded(message) and await self._is_focused(message):
                for each in self._rights.with_kept(message):
                    self._rights.note(each)
                    writer.write(each.body)
                self._tell(message)
            else:
                self._rights.keep(message)

    async def let_go(self, writer: asyncio.StreamWriter) -> None:
        """Release what the viewer holds down, whenever it loses control."""
        while True:
            await self._control.changed()
            if self._rights.pressing and not self._control.drives(self._caller, "gui"):
                writer.write(self._rights.let_go())

    async def _is_focused(self, message: VncMessage) -> bool:
        """Focus the window that a press is about to hit. Whether the viewer still drives then."""
        if (point := self._rights.focusing_press(message)) is None:
            return True
        with suppress(Failure):  # a window that has no focus is pressed all the same
            await self._windows.focus_at(*point)
        return self._control.drives(self._caller, "gui")

    def _tell(self, message: VncMessage) -> None:
        if means_to_act(message):
            self._control.note(self._caller, "keys" if message.kind == "key" else "clicks", 1)
        elif message.kind == "clipboard":
            self._control.note(self._caller, "pastes", 1)

    async def _is_forwarded(self, message: VncMessage) -> bool:
        """Whether an input is forwarded. Moving the pointer does not take control."""
        if not means_to_act(message) and not self._control.drives(self._caller, "gui"):
            return False
        return await self._control.drive(self._caller, "gui")


async def _carry(socket: VncViewerSocket, viewer_input: VncInput, stream: Stream, evicted: asyncio.Event) -> None:
    """Carry messages in both directions until the viewer leaves.

    Raises Unavailable if the VNC server ended, Private once the viewer may not see, InvalidArgument for malformed RFB,
    and ResourceExhausted on eviction.
    """
    ways = [
        start_task(_to_server(socket, viewer_input, stream[1])),
        start_task(_to_viewer(stream[0], socket)),
        start_task(viewer_input.let_go(stream[1])),
        start_task(_leave(evicted)),
    ]
    try:
        ended, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
    for way in ended:
        way.result()


async def _leave(evicted: asyncio.Event) -> None:
    await evicted.wait()
    raise ResourceExhausted(NEEDED)


async def _to_server(socket: VncViewerSocket, viewer_input: VncInput, writer: asyncio.StreamWriter) -> None:
    while (data := await socket.receive()) is not None:
        if isinstance(data, str):
            raise InvalidArgument("RFB messages must be binary")
        try:
            await viewer_input.pass_on(data, writer)
            await writer.drain()
        except BadVncMessage as bad:
            raise InvalidArgument(str(bad)) from None
        except ConnectionError:
            raise _server_ended() from None


async def _to_viewer(reader: asyncio.StreamReader, socket: VncViewerSocket) -> None:
    while data := await _read(reader):
        await socket.send(data)
    raise _server_ended()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(PIECE_BYTES)
    except ConnectionError:
        raise _server_ended() from None


def _server_ended() -> Unavailable:
    return Unavailable("the VNC server ended", retry_after=RETRY_AFTER)
