"""The viewer's side of a channel of datagrams, for clients in Python."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.transport.fragments import Reassembler
from sandbox_server.stream.transport.signaling import ANSWERED, ENDED, INVITED, ChannelOffer, read_answer
from sandbox_server.stream.transport.viewer_transport import FRAMES, QUICK

if TYPE_CHECKING:
    from sandbox_server.stream.transport.channel import WebRtcChannel

SOCKET, CHANNEL = range(2)
"""The two ways, for `ReorderBuffer`."""
MAX_TWICE = 8192
"""What is longer is said over the WebSocket alone."""
CHANGED = b""
"""Taken in a message's place when a channel has opened or ended."""
ANSWER_SECONDS = 15.0
_NUMBER = struct.Struct("<I")


class ClientChannel:
    """A channel beside a WebSocket, as soon as the server invites to it. `send` sends over the WebSocket; `take` is given what comes."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]], take: Callable[[bytes], None], tasks: Tasks) -> None:
        self._send = send
        self._take = take
        self._tasks = tasks
        self._order = asyncio.Lock()
        self._said = 0
        self._channel: WebRtcChannel | None = None
        self._answer: asyncio.Future[str] | None = None

    @property
    def usable(self) -> bool:
        """Whether a channel is open."""
        return self._channel is not None and self._channel.usable

    async def say(self, message: bytes, *, quick: bool) -> None:
        """Say something: an ack or a ping over the channel where there is one, everything else over both."""
        if quick and self._channel and self._channel.usable:
            with suppress(ConnectionError):
                await self._channel.send(QUICK, message)
                return
        async with self._order:
            if self._channel and self._channel.usable and len(message) <= MAX_TWICE:
                with suppress(ConnectionError):
                    await self._channel.send(FRAMES, _NUMBER.pack(self._said) + message)
            self._said += 1
            await self._send(message)

    def signalled(self, message: bytes) -> bool:
        """Take a signal of the server's; whether it says that the channel has ended."""
        kind, text = message[1], message[2:].decode()
        if kind == INVITED:
            self._tasks.start(self._negotiate(), name="channel to the server")
        elif kind == ANSWERED and self._answer and not self._answer.done():
            self._answer.set_result(text)
        elif kind == ENDED:
            self._channel = None
        return kind == ENDED

    async def _negotiate(self) -> None:
        from sandbox_server.stream.transport.channel import WebRtcChannel  # heavy, and only needed for this
        from sandbox_server.stream.transport.udp_mux import IceClient

        reassembler, connection = Reassembler(), IceClient()
        self._answer = asyncio.get_running_loop().create_future()

        def taken(lane: int, message: bytes) -> None:
            whole = reassembler.take(message) if lane == FRAMES else message
            if whole is not None:
                self._take(whole)

        with suppress(TimeoutError, ConnectionError):
            async with WebRtcChannel(connection, taken) as channel:
                await self.say(wire.serialize(wire.Signal(channel.introduction)), quick=False)
                async with asyncio.timeout(ANSWER_SECONDS):
                    answer = read_answer(await self._answer)
                await connection.intersects(answer.host, answer.port)
                await channel.open(ChannelOffer(answer.peer))
                self._channel = channel
                self._take(CHANGED)
                await channel.ends()
        if self._channel:
            self._channel = None
            await self.say(wire.serialize(wire.Signal("")), quick=False)
        self._take(CHANGED)
