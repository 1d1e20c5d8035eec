"""One viewer's messages: over its WebSocket, and over a channel of datagrams beside it, where one opens.

Frames, sound and answers to pings go over the channel while it is good, everything else over the WebSocket. What was sent of a frame over
the channel is kept until it is acknowledged; if the channel fails, it is sent again over the WebSocket, and the viewer does each part once
(`order`).
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
"""Between two offers that are taken, at least."""
FRAMES, QUICK = range(2)
"""The channel's lanes: messages of the first keep their order, those of the second do not wait for each other."""
_FRAMES = frozenset({wire.SIZE, wire.PART})
_QUICK = frozenset({wire.SOUND, wire.PONG})
_ACK, _PING, _SPOKEN = b"\x02", b"\x08", b"\x11"
_log = logging.getLogger(__name__)


class MessageSocket(Protocol):
    """What carries messages to and from a viewer, in order."""

    async def send(self, message: bytes) -> None:
        """Send one, as soon as there is room for it."""

    async def receive(self) -> bytes | None:
        """The next of the viewer's; None when it has gone."""


class DatagramChannel(Protocol):
    """A channel of datagrams to a viewer."""

    @property
    def usable(self) -> bool:
        """Whether it is open, and what it sent of late got through."""

    @property
    def introduction(self) -> str:
        """What the viewer has to know of it."""

    async def open(self, other: ChannelOffer) -> None:
        """Wait until the viewer is there. Raises TimeoutError or ConnectionError."""

    async def send(self, lane: int, message: bytes, *, once: bool = False) -> None:
        """Send a message, and return when all of it is on its way; `once`: not anew if it is lost. Raises ConnectionError."""

    @property
    def has_track(self) -> bool:
        """Whether the viewer takes a video as a track now."""

    async def show(self, timestamp: int, picture: bytes, rate: float | None) -> None:
        """Send a picture by the track, at most `rate` bytes a second. Raises ConnectionError."""

    def take_keyframe_request(self) -> bool:
        """Whether the viewer has asked for a picture that needs none before it, since the last time."""

    async def ends(self) -> None:
        """Wait until it is no good any more."""

    def give_up(self) -> None:
        """Use it no more."""

    def widen(self, window: float, rate: float | None) -> None:
        """Let so many bytes be on their way; `rate` is what the link takes, in bytes a second, None if nobody knows."""

    async def __aenter__(self) -> Self:
        """Let the viewer in. Raises ResourceExhausted."""

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it."""


type ChannelFactory = Callable[[Callable[[int, bytes], None]], DatagramChannel]
"""Given what takes each message with its lane, makes a channel."""


class ViewerTransport:
    """Carries a viewer's messages for as long as the context. `datagrams` makes a channel to a viewer; without it there is none."""

    def __init__(self, carrier: MessageSocket, datagrams: ChannelFactory | None = None) -> None:
        self._carrier = carrier
        self._datagrams = datagrams
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
        self._tasks.start(self._listen(), name="listen to a viewer")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        for outbox in (self._urgent, self._paced):
            await outbox.__aexit__(kind, error, trace)

    async def send(self, message: bytes) -> None:
        """Send a message, the more urgent before what waits; return when it is on its way."""
        await (self._paced if is_paced(message) else self._urgent).send(message)

    async def receive(self) -> bytes | None:
        """The next of the viewer's; None when it has gone. Raises MalformedMessage."""
        return await self._inbound.next()

    def pace(self, window: CongestionWindow) -> None:
        """Space what is sent by what is known of the way."""
        self._pacer.rate = window.pace
        if self._channel:
            self._channel.widen(window.in_flight, window.pace)

    @property
    def has_track(self) -> bool:
        """Whether a video may go by a track now: as `wire.picture`, which is dropped where there is none."""
        return self._channel is not None and self._channel.has_track

    def take_keyframe_request(self) -> bool:
        """Whether the viewer has asked for a picture that needs none before it, since the last time."""
        return self._channel is not None and self._channel.take_keyframe_request()

    def report_sound_loss(self, share: int) -> None:
        """Take that the viewer missed this share of the sound, in 255ths."""
        self._redundancy.missed(share, time.monotonic())

    async def _carry(self, message: bytes) -> None:
        channel = self._channel
        if message[0] in _QUICK and channel and channel.usable:
            with suppress(ConnectionError):  # what it carries is old by then
                await self._carry_quick(channel, message)
            return
        await self._carrier.send(message)
        if message[0] == wire.HELLO and self._datagrams:
            await self._carrier.send(wire.signal(INVITED))

    async def _show(self, timestamp: int, picture: bytes) -> None:
        """What is not seen of a video is replaced by what follows it, whether it is the next picture or its end."""
        if self._channel and self._channel.has_track:
            with suppress(ConnectionError):
                await self._channel.show(timestamp, picture, self._pacer.rate)

    async def _carry_quick(self, channel: DatagramChannel, message: bytes) -> None:
        if message[0] == wire.SOUND:
            await channel.send(QUICK, self._redundancy.message(message, time.monotonic()), once=True)
        else:
            await channel.send(QUICK, message)

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
        """Send again, over the WebSocket, whatever may not have come over the channel; and what belongs to the same frame after it."""
        self._by_channel = False
        try:
            for message in self._unacknowledged.take():
                await self._carrier.send(message)
        except Exception as error:  # who receives learns of it, whatever it is
            await self._inbound.end(error)

    async def _listen(self) -> None:
        try:
            while (message := await self._carrier.receive()) is not None:
                self._note(message)
                await self._inbound.from_socket(message)
        except Exception as error:  # who receives learns of it, whatever it is
            await self._inbound.end(error)
        else:
            await self._inbound.end(None)

    def _note(self, message: bytes) -> None:
        """Look at what concerns the way itself."""
        if message[:1] == _ACK:
            self._unacknowledged.acked(int.from_bytes(message[1:5], "little"))

    def _take(self, lane: int, message: bytes) -> None:
        """Take what came over the channel."""
        if lane == FRAMES:
            self._inbound.from_channel(message)
        elif message[:1] in (_ACK, _PING):
            self._note(message)
            if not self._inbound.hint(message) and self._channel:
                self._channel.give_up()  # an ack that is not heard would hold up all frames; the viewer says it again when the channel ends
        elif message[:1] == _SPOKEN:
            self._inbound.hint(message)  # or nobody hears it

    def negotiate(self, text: str) -> None:
        """Take a viewer's offer, or that its channel has ended. Raises MalformedMessage."""
        offer = read_offer(text)
        if self._negotiation:
            self._negotiation.cancel()
        now = time.monotonic()
        if offer and self._datagrams and now - self._offered_at >= OFFER_SECONDS:
            self._offered_at = now
            self._negotiation = self._tasks.start(
                self._run_channel(offer, self._datagrams(self._take), self._negotiation), name="channel to a viewer"
            )

    async def _run_channel(self, offer: ChannelOffer, channel: DatagramChannel, before: asyncio.Task[None] | None) -> None:
        """Open a channel, and watch it until it is no good."""
        if before:
            await asyncio.wait([before])
        try:
            await self._use(offer, channel)
        except (TimeoutError, ConnectionError, ResourceExhausted) as reason:
            _log.info("a viewer's channel did not open: %s", reason or "nobody came")
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
