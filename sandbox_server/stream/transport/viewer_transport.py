"""The transport of one viewer: its WebSocket, and a WebRTC data channel beside it where one opens.

Frames, sound and pongs go over the data channel while it works, everything else over the WebSocket. Frames that went over the channel are
held until they are acknowledged. If the channel fails they are sent again over the WebSocket, and the viewer's reorder buffer does each
part once.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.congestion.window import CongestionWindow
from sandbox_server.stream.transport.audio_redundancy import AudioRedundancy
from sandbox_server.stream.transport.fragments import fragments
from sandbox_server.stream.transport.inbound import InboundMessages
from sandbox_server.stream.transport.pacer import Pacer
from sandbox_server.stream.transport.send_queue import PrioritySendQueue, is_paced
from sandbox_server.stream.transport.signaling import ANSWERED, ENDED, INVITED, ChannelOffer, read_offer
from sandbox_server.stream.transport.unacknowledged import UnacknowledgedFrames

OFFER_SECONDS = 1.0
"""Least time between two offers that are taken."""
FRAMES, UNORDERED = range(2)
"""The lanes of the data channel: messages of the first are ordered, those of the second are not."""
_FRAMES = frozenset({wire.SIZE, wire.PART})
_UNORDERED = frozenset({wire.SOUND, wire.PONG})
_ACK, _PING, _SPOKEN = b"\x02", b"\x08", b"\x11"
_log = logging.getLogger(__name__)


class MessageSocket(Protocol):
    """An ordered, reliable connection to a viewer, as its WebSocket is."""

    async def send(self, message: bytes) -> None:
        """Send a message, once there is room for it."""

    async def receive(self) -> bytes | None:
        """The viewer's next message; None when it has gone."""


class DatagramChannel(Protocol):
    """A data channel to a viewer."""

    @property
    def usable(self) -> bool:
        """Whether it is open, and what was sent recently has arrived."""

    @property
    def introduction(self) -> str:
        """What the viewer has to know of it."""

    async def open(self, other: ChannelOffer) -> None:
        """Connect to the viewer. Raises TimeoutError or ConnectionError."""

    async def send(self, lane: int, message: bytes, *, once: bool = False) -> None:
        """Send a message, and return when all of it has left. `once`: without retransmission. Raises ConnectionError."""

    @property
    def has_track(self) -> bool:
        """Whether the viewer takes video as a track now."""

    async def send_video(self, timestamp: int, picture: bytes, rate: float | None) -> None:
        """Send an access unit by the track, at up to `rate` bytes a second. Raises ConnectionError."""

    def take_keyframe_request(self) -> bool:
        """Whether the viewer has asked for a keyframe of the track since the last call."""

    async def ends(self) -> None:
        """Wait until it has failed or ended."""

    def give_up(self) -> None:
        """Mark it as failed: it is used no more."""

    def set_window(self, window: float, rate: float | None) -> None:
        """Let so many bytes be in flight. `rate` is what the link takes, in bytes a second, None while that is unknown."""

    async def __aenter__(self) -> Self:
        """Open the server's side. Raises ResourceExhausted."""

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""


type ChannelFactory = Callable[[Callable[[int, bytes], None]], DatagramChannel]
"""Makes a channel, given what takes each message with its lane."""


class ViewerTransport:
    """Carries a viewer's messages for as long as the context. `make_channel` makes a data channel; without it there is none."""

    def __init__(self, carrier: MessageSocket, make_channel: ChannelFactory | None = None) -> None:
        self._carrier = carrier
        self._make_channel = make_channel
        self._pacer = Pacer()
        self._urgent, self._paced = PrioritySendQueue(self._carry), PrioritySendQueue(self._carry_paced, self._pacer)
        self._inbound = InboundMessages()
        self._unacknowledged = UnacknowledgedFrames()
        self._redundancy = AudioRedundancy()
        self._tasks = Tasks()
        self._channel: DatagramChannel | None = None
        self._negotiation: asyncio.Task[None] | None = None
        self._offered_at = -OFFER_SECONDS
        self._writing = asyncio.Lock()
        self._by_channel = False
        self._begins = True

    async def __aenter__(self) -> Self:
        for outbox in (self._urgent, self._paced):
            await outbox.__aenter__()
        self._tasks.start(self._listen(), name="receive from a viewer")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        for outbox in (self._urgent, self._paced):
            await outbox.__aexit__(kind, error, trace)

    async def send(self, message: bytes) -> None:
        """Send a message before all less urgent ones, and return when it has left."""
        await (self._paced if is_paced(message) else self._urgent).send(message)

    async def receive(self) -> bytes | None:
        """The viewer's next message; None when it has gone. Raises MalformedMessage."""
        return await self._inbound.next()

    def pace(self, window: CongestionWindow) -> None:
        """Pace what is sent by what is known of the link."""
        self._pacer.rate = window.pace
        if self._channel:
            self._channel.set_window(window.in_flight, window.pace)

    @property
    def has_track(self) -> bool:
        """Whether a video may go by a track now, as `wire.picture`. That is dropped where there is no track."""
        return self._channel is not None and self._channel.has_track

    def take_keyframe_request(self) -> bool:
        """Whether the viewer has asked for a keyframe of the track since the last call."""
        return self._channel is not None and self._channel.take_keyframe_request()

    def report_sound_loss(self, share: int) -> None:
        """Note that the viewer missed this share of the sound, in 255ths."""
        self._redundancy.missed(share, time.monotonic())

    async def _carry(self, message: bytes) -> None:
        channel = self._channel
        if message[0] in _UNORDERED and channel and channel.usable:
            with suppress(ConnectionError):  # what it carries would be late
                await self._carry_quick(channel, message)
            return
        await self._carrier.send(message)
        if message[0] == wire.HELLO and self._make_channel:
            await self._carrier.send(wire.signal(INVITED))

    async def _show(self, timestamp: int, picture: bytes) -> None:
        """Send an access unit by the track. One that is lost is replaced by what follows it, the next one or the end of the video."""
        if self._channel and self._channel.has_track:
            with suppress(ConnectionError):
                await self._channel.send_video(timestamp, picture, self._pacer.rate)

    async def _carry_quick(self, channel: DatagramChannel, message: bytes) -> None:
        if message[0] == wire.SOUND:
            await channel.send(UNORDERED, self._redundancy.message(message, time.monotonic()), once=True)
        else:
            await channel.send(UNORDERED, message)

    async def _carry_paced(self, message: bytes) -> None:
        if message[0] == wire.PICTURE:
            await self._show(*wire.read_picture(message))
            return
        if message[0] not in _FRAMES:
            await self._carrier.send(message)
            return
        async with self._writing:
            if self._begins:
                self._by_channel = bool(self._channel and self._channel.usable)
                if self._by_channel:
                    self._unacknowledged.begin()
            self._begins = message[0] == wire.PART and bool(message[1] & wire.LAST)
            await self._carry_frame(message)

    async def _carry_frame(self, message: bytes) -> None:
        if not self._by_channel:
            await self._carrier.send(message)
            return
        self._unacknowledged.add(message)
        try:
            await self._send_fragments(message)
        except ConnectionError:
            await self._fall_back()

    async def _send_fragments(self, message: bytes) -> None:
        for piece in fragments(message):
            if self._channel is None:
                raise ConnectionError("the channel has ended")
            await self._channel.send(FRAMES, piece)

    async def _fall_back(self) -> None:
        """Send whatever may not have arrived over the channel again, over the WebSocket, and the rest of the frame that is being sent."""
        self._by_channel = False
        try:
            for message in self._unacknowledged.take():
                await self._carrier.send(message)
        except Exception as error:  # raised to who receives, whatever it is
            await self._inbound.end(error)

    async def _listen(self) -> None:
        try:
            while (message := await self._carrier.receive()) is not None:
                self._note(message)
                await self._inbound.from_socket(message)
        except Exception as error:  # raised to who receives, whatever it is
            await self._inbound.end(error)
        else:
            await self._inbound.end(None)

    def _note(self, message: bytes) -> None:
        """Note an ack: the frame need not be sent again."""
        if message[:1] == _ACK:
            self._unacknowledged.acked(int.from_bytes(message[1:5], "little"))

    def _take(self, lane: int, message: bytes) -> None:
        """Take a message of the data channel."""
        if lane == FRAMES:
            self._inbound.from_channel(message)
        elif message[:1] in (_ACK, _PING):
            self._note(message)
            if not self._inbound.hint(message) and self._channel:
                self._channel.give_up()  # a dropped ack would hold up all frames; the viewer repeats it when the channel ends
        elif message[:1] == _SPOKEN:
            self._inbound.hint(message)  # or it is dropped

    def negotiate(self, text: str) -> None:
        """Take the viewer's offer of a channel, or that its channel has ended. Raises MalformedMessage."""
        offer = read_offer(text)
        if self._negotiation:
            self._negotiation.cancel()
        now = time.monotonic()
        if offer and self._make_channel and now - self._offered_at >= OFFER_SECONDS:
            self._offered_at = now
            self._negotiation = self._tasks.start(
                self._run_channel(offer, self._make_channel(self._take), self._negotiation), name="channel to a viewer"
            )

    async def _run_channel(self, offer: ChannelOffer, channel: DatagramChannel, before: asyncio.Task[None] | None) -> None:
        """Open a channel, and fall back to the WebSocket once it has failed."""
        if before:
            await asyncio.wait([before])
        try:
            await self._use(offer, channel)
        except (TimeoutError, ConnectionError, ResourceExhausted) as reason:
            _log.info("a viewer's channel did not open: %s", reason or "the viewer did not connect")
        finally:
            self._channel = None
            async with self._writing:
                await self._fall_back()
        await self._urgent.send(wire.signal(ENDED))

    async def _use(self, offer: ChannelOffer, channel: DatagramChannel) -> None:
        async with channel:
            await self._urgent.send(wire.signal(ANSWERED, channel.introduction))
            await channel.open(offer)
            self._channel = channel
            await channel.ends()
