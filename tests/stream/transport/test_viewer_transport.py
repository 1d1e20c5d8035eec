"""The transport of one viewer: messages arrive once and in order, whatever happens to the data channel."""

import asyncio
from collections.abc import Callable
from typing import Self

import pytest

from sandbox_server.stream import wire
from sandbox_server.stream.congestion.window import CongestionWindow
from sandbox_server.stream.transport.fragments import Reassembler
from sandbox_server.stream.transport.reorder_buffer import ReorderBuffer
from sandbox_server.stream.transport.signaling import ANSWERED, ENDED, INVITED, ChannelOffer
from sandbox_server.stream.transport.viewer_transport import FRAMES, UNORDERED, ViewerTransport
from tests.patience import eventually

pytestmark = pytest.mark.anyio

SOCKET, CHANNEL = range(2)
OFFER = f"name {'p' * 22} {':'.join(['AA'] * 32)}"


class ViewerSocket:
    """A WebSocket: what the viewer says goes in, what it is sent is noted."""

    def __init__(self) -> None:
        self.outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.sent: list[bytes] = []
        self.broken = False

    async def send(self, message: bytes) -> None:
        if self.broken:
            raise OSError("gone")
        self.sent.append(message)

    async def receive(self) -> bytes | None:
        return await self.outgoing.get()

    async def until_sent(self, message: bytes) -> None:
        await eventually(lambda: message in self.sent)

    def signals(self) -> list[int]:
        return [message[1] for message in self.sent if message[0] == wire.SIGNAL]


class ClientChannel:
    """A channel that opens at once, and ends when told to. After `good` messages nothing gets through any more."""

    introduction = "here"

    def __init__(self, taken: Callable[[int, bytes], None], good: int = 1_000_000) -> None:
        self.taken = taken
        self.good = good
        self.sent: list[tuple[int, bytes]] = []
        self.shown: list[tuple[int, bytes, float | None]] = []
        self.window = 0.0
        self.ended = asyncio.Event()
        self.opened = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.ended.set()

    @property
    def usable(self) -> bool:
        return not self.ended.is_set()

    async def open(self, other: ChannelOffer) -> None:
        assert str(other) == OFFER
        self.opened.set()

    @property
    def has_track(self) -> bool:
        return self.usable

    async def send_video(self, timestamp: int, picture: bytes, rate: float | None) -> None:
        self.shown.append((timestamp, picture, rate))

    def take_keyframe_request(self) -> bool:
        return True

    async def ends(self) -> None:
        await self.ended.wait()

    def give_up(self) -> None:
        self.ended.set()

    def set_window(self, window: float, rate: float | None) -> None:
        self.window = window

    async def send(self, lane: int, message: bytes, *, once: bool = False) -> None:
        assert once == (lane == UNORDERED and message[0] == wire.SOUNDS)
        self.good -= 1
        if self.good < 0:
            await self.ended.wait()
        if self.ended.is_set():
            raise ConnectionError("it has ended")
        self.sent.append((lane, message))


class Both:
    """A transport with both ways, and the viewer's end of it."""

    def __init__(self, good: int = 1_000_000) -> None:
        self.socket = ViewerSocket()
        self.channels: list[ClientChannel] = []
        self.good = good
        self.transport = ViewerTransport(self.socket, self._make)

    def _make(self, taken: Callable[[int, bytes], None]) -> ClientChannel:
        self.channels.append(ClientChannel(taken, self.good))
        return self.channels[-1]

    async def open(self) -> ClientChannel:
        await self.transport.send(wire.hello(1, 0, 8, 8))
        self.transport.negotiate(OFFER)
        await self.socket.until_sent(wire.signal(ANSWERED, "here"))
        async with asyncio.timeout(30):
            await self.channels[-1].opened.wait()
        return self.channels[-1]

    def seen(self) -> list[bytes]:
        """Parts as a viewer would do them that hears the channel first."""
        buffer, reassembler = ReorderBuffer(), Reassembler()
        came = [
            (CHANNEL, whole) for lane, piece in self.channels[-1].sent if lane == FRAMES and (whole := reassembler.take(piece)) is not None
        ]
        came += [(SOCKET, message) for message in self.socket.sent]
        return [ready for path, message in came for ready in buffer.take(path, message) if ready[0] in (wire.SIZE, wire.PART)]


def frames(count: int, size: int = 10) -> list[bytes]:
    return [wire.part(number, bytes([part]) * size, last=part == 2) for number in range(1, count + 1) for part in range(3)]


async def test_without_a_door_everything_goes_over_the_socket() -> None:
    socket = ViewerSocket()
    async with ViewerTransport(socket) as transport:
        messages = [wire.hello(1, 0, 8, 8), wire.size(4, 4), *frames(2), wire.pong(1), wire.clipboard("text")]
        for message in messages:
            await transport.send(message)
        transport.negotiate(OFFER)
    assert socket.sent == messages


async def test_frames_and_pongs_go_over_the_channel_and_all_else_over_the_socket() -> None:
    both = Both()
    async with both.transport:
        channel = await both.open()
        sent = [wire.size(4, 4), *frames(3, 60_000)]
        for message in [*sent, wire.pong(1), wire.rights(0)]:
            await both.transport.send(message)
        assert both.seen() == sent
        assert [message for lane, message in channel.sent if lane == UNORDERED] == [wire.pong(1)]
        assert both.socket.sent[-1] == wire.rights(0)
        assert both.socket.signals() == [INVITED, ANSWERED]
        both.transport.pace(CongestionWindow())
        assert channel.window > 0


@pytest.mark.parametrize("good", range(14))
async def test_a_channel_that_fails_at_any_moment_loses_nothing(good: int) -> None:
    both = Both(good)
    async with both.transport:
        channel = await both.open()
        sending = asyncio.create_task(send_all(both.transport, frames(5)))
        await asyncio.wait([sending], timeout=0)
        both.socket.outgoing.put_nowait(wire.serialize(wire.Ack(good // 3, 0)))  # what was sent of frames is theirs
        assert await both.transport.receive() == wire.serialize(wire.Ack(good // 3, 0))
        channel.ended.set()
        await asyncio.wait_for(sending, 30)
        await both.socket.until_sent(wire.signal(ENDED))
        await both.transport.send(wire.part(6, b"", last=True))
    assert both.seen() == [*frames(5), wire.part(6, b"", last=True)]


async def send_all(transport: ViewerTransport, messages: list[bytes]) -> None:
    for message in messages:
        await transport.send(message)


async def test_pictures_of_a_video_go_by_the_track_and_nowhere_without_it() -> None:
    both = Both()
    async with both.transport:
        assert not both.transport.has_track
        await both.transport.send(wire.picture(5, b"early"))
        channel = await both.open()
        assert both.transport.has_track
        assert both.transport.take_keyframe_request()
        await both.transport.send(wire.picture(6, b"shown"))
        channel.ended.set()
        await both.transport.send(wire.picture(7, b"late"))
        await both.socket.until_sent(wire.signal(ENDED))
        assert channel.shown == [(6, b"shown", None)]
        assert not both.transport.take_keyframe_request()
        assert [message for message in both.socket.sent if message[0] == wire.PICTURE] == []


async def test_what_is_acknowledged_is_not_sent_again() -> None:
    both = Both()
    async with both.transport:
        channel = await both.open()
        await send_all(both.transport, frames(3))
        channel.taken(UNORDERED, wire.serialize(wire.Ack(2, 0)))
        assert await both.transport.receive() == wire.serialize(wire.Ack(2, 0))
        channel.ended.set()
        await both.socket.until_sent(wire.signal(ENDED))
        assert [message for message in both.socket.sent if message[0] == wire.PART] == frames(3)[6:]


async def test_what_is_said_over_both_ways_is_heard_once() -> None:
    both = Both()
    async with both.transport:
        channel = await both.open()
        messages = [wire.serialize(wire.Key(65 + number, down=True)) for number in range(3)]
        channel.taken(FRAMES, bytes(4) + messages[0])
        channel.taken(FRAMES, (2).to_bytes(4, "little") + messages[2])
        channel.taken(UNORDERED, messages[1])  # not a message for that lane
        for message in messages:
            both.socket.outgoing.put_nowait(message)
        assert [await both.transport.receive() for _ in messages] == messages
        both.socket.outgoing.put_nowait(None)
        assert await both.transport.receive() is None


async def test_acks_that_nobody_hears_end_the_channel() -> None:
    both = Both()
    async with both.transport:
        channel = await both.open()
        for number in range(300):
            channel.taken(UNORDERED, wire.serialize(wire.Ack(number, 0)))
        await both.socket.until_sent(wire.signal(ENDED))
        assert both.channels == [channel]


async def test_sound_is_sent_again_over_the_channel_where_some_was_lost_and_not_over_the_socket() -> None:
    both = Both()
    async with both.transport:
        await both.transport.send(wire.sound(1, b"one"))
        both.transport.report_sound_loss(255)
        channel = await both.open()
        for number, packet in ((2, b"two"), (3, b"three")):
            await both.transport.send(wire.sound(number, packet))
        channel.ended.set()
        await both.socket.until_sent(wire.signal(ENDED))
        await both.transport.send(wire.sound(4, b"four"))
    assert channel.sent == [(UNORDERED, wire.sounds(1, 2, [b"two"])), (UNORDERED, wire.sounds(2, 2, [b"two", b"three"]))]
    assert [message for message in both.socket.sent if message[0] in (wire.SOUND, wire.SOUNDS)] == [
        wire.sound(1, b"one"),
        wire.sound(4, b"four"),
    ]


async def test_offers_are_taken_now_and_then_and_the_latest_counts() -> None:
    both = Both()
    async with both.transport:
        first = await both.open()
        both.transport.negotiate(OFFER)  # too soon: it ends the first, and opens none
        async with asyncio.timeout(30):
            await first.ended.wait()
        assert both.channels == [first]
        with pytest.raises(wire.MalformedMessage):
            both.transport.negotiate("offer")


async def test_what_breaks_the_socket_is_raised() -> None:
    both = Both()

    async with both.transport:
        both.socket.broken = True
        with pytest.raises(OSError, match="gone"):
            await both.transport.send(wire.pong(1))
