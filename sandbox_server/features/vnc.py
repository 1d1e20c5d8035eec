"""The desktop over VNC: a viewer sees it, and acts on it where it may."""

import asyncio

from sandbox_server.core import Call, InvalidArgument, ResourceExhausted, Socket, Unavailable, socket
from sandbox_server.drivers.vnc.messages import BadMessage
from sandbox_server.drivers.vnc.rights import Rights
from sandbox_server.drivers.vnc.server import PIECE_BYTES, RETRY_AFTER, Stream, VncServer
from sandbox_server.drivers.x11.desktop import Desktop

MAX_VIEWERS = 32


class Vnc:
    """Carries RFB, the protocol of VNC, between viewers and the server."""

    tag = "vnc"

    def __init__(self, server: VncServer, desktop: Desktop) -> None:
        self._server = server
        self._desktop = desktop
        self._viewers = 0

    @socket("/websockify", scope="view")
    async def view_desktop(self, socket: Socket, call: Call) -> None:
        """See the desktop, and use it, with a VNC viewer: RFB in binary messages.

        Keys, pointer, clipboard and size of a viewer without the scope `control` go no further than here.
        """
        if self._viewers >= MAX_VIEWERS:
            raise ResourceExhausted(f"{MAX_VIEWERS} viewers watch already", retry_after=RETRY_AFTER)
        rights = Rights(control=call.caller.may("control"))
        self._viewers += 1
        try:
            async with self._server.connect() as stream:
                await _carry(socket, rights, stream)
        except Unavailable:
            if rights.pressing:  # the server died, so nobody else releases what it pressed
                await self._desktop.release_everything()
            raise
        finally:
            self._viewers -= 1


async def _carry(socket: Socket, rights: Rights, stream: Stream) -> None:
    """Carry what both sides send until the viewer leaves. Raises Unavailable if the server ended, InvalidArgument for what is no RFB."""
    ways = [asyncio.create_task(_to_server(socket, rights, stream[1])), asyncio.create_task(_to_viewer(stream[0], socket))]
    try:
        ended, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
    for way in ended:
        way.result()


async def _to_server(socket: Socket, rights: Rights, writer: asyncio.StreamWriter) -> None:
    while (data := await socket.receive()) is not None:
        if isinstance(data, str):
            raise InvalidArgument("RFB comes in binary messages")
        try:
            writer.write(rights.pass_on(data))
            await writer.drain()
        except BadMessage as bad:
            raise InvalidArgument(str(bad)) from None
        except ConnectionError:
            raise _server_ended() from None


async def _to_viewer(reader: asyncio.StreamReader, socket: Socket) -> None:
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
