"""The client's side of a WebRTC data channel, for viewers in Python."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.transport.fragments import Reassembler
from sandbox_server.stream.transport.signaling import ANSWERED, ENDED, INVITED, ChannelOffer, read_answer
from sandbox_server.stream.transport.viewer_transport import FRAMES, UNORDERED

if TYPE_CHECKING:
    from sandbox_server.stream.transport.channel import WebRtcChannel

SOCKET, CHANNEL = range(2)
"""The two paths, for `ReorderBuffer`."""
MAX_TWICE = 8192
"""A longer message is sent over the WebSocket alone."""
CHANGED = b""
"""Delivered in place of a message when a channel has opened or ended."""
ANSWER_SECONDS = 15.0
_NUMBER = struct.Struct("<I")


class ClientChannel:
    """A data channel beside a WebSocket, opened when the server invites to it.

    `send` sends over the WebSocket, `deliver` is given each message that arrives.
    """

    def __init__(self, send: Callable[[bytes], Awaitable[None]], deliver: Callable[[bytes], None], tasks: Tasks) -> None:
        self._send = send
        self._deliver = deliver
        self._tasks = tasks
        self._sending = asyncio.Lock()
        self._sent = 0
        self._channel: WebRtcChannel | None = None
        self._answer: asyncio.Future[str] | None = None

    @property
    def usable(self) -> bool:
        """Whether the channel is open."""
        return self._channel is not None and self._channel.usable

    async def send(self, message: bytes, *, unordered: bool) -> None:
        """Send a message: an ack or a ping over the channel where there is one, everything else over both."""
        if unordered and self._channel and self._channel.usable:
            with suppress(ConnectionError):
                await self._channel.send(UNORDERED, message)
                return
        async with self._sending:
            if self._channel and self._channel.usable and len(message) <= MAX_TWICE:
                with suppress(ConnectionError):
                    await self._channel.send(FRAMES, _NUMBER.pack(self._sent) + message)
            self._sent += 1
            await self._send(message)

    def take_signal(self, message: bytes) -> bool:
        """Take a signal of the server's; True if it says that the channel has ended."""
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

        def on_message(lane: int, message: bytes) -> None:
            whole = reassembler.take(message) if lane == FRAMES else message
            if whole is not None:
                self._deliver(whole)

        with suppress(TimeoutError, ConnectionError):
            async with WebRtcChannel(connection, on_message) as channel:
                await self.send(wire.serialize(wire.Signal(channel.introduction)), unordered=False)
                async with asyncio.timeout(ANSWER_SECONDS):
                    answer = read_answer(await self._answer)
                await connection.connect_to(answer.host, answer.port)
                await channel.open(ChannelOffer(answer.peer))
                self._channel = channel
                self._deliver(CHANGED)
                await channel.ends()
        if self._channel:
            self._channel = None
            await self.send(wire.serialize(wire.Signal("")), unordered=False)
        self._deliver(CHANGED)
