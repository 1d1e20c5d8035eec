"""Data channels: opened by both sides over a link that loses packets, and closed to another certificate."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiortc.rtp import RTCP_PSFB_PLI, RtcpPsfbPacket, RtpPacket

from sandbox_server.stream.transport import channel
from sandbox_server.stream.transport.channel import WebRtcChannel, channel_factory
from sandbox_server.stream.transport.rtp_track import SSRC
from sandbox_server.stream.transport.signaling import ChannelOffer, PeerIdentity, VideoPayloadTypes, read_answer, read_offer
from sandbox_server.stream.transport.udp_mux import IceClient, UdpMux
from sandbox_server.stream.transport.viewer_transport import FRAMES, UNORDERED
from tests.patience import eventually
from tests.stream.transport.links import Lossy

pytestmark = pytest.mark.anyio


class Side:
    """One side's ears."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()

    def take(self, lane: int, message: bytes) -> None:
        self.heard.put_nowait((lane, message))

    async def hears(self, count: int) -> list[tuple[int, bytes]]:
        async with asyncio.timeout(30):
            return [await self.heard.get() for _ in range(count)]


@asynccontextmanager
async def talking(
    loss: float, server: Side, client: Side, video: VideoPayloadTypes | None = None
) -> AsyncIterator[tuple[WebRtcChannel, WebRtcChannel, Lossy]]:
    """A server's channel and a client's, open to each other; the client takes a video as `video` says."""
    async with UdpMux("127.0.0.1", 0) as mux, Lossy(("127.0.0.1", mux.port), loss) as link:
        caller = IceClient()
        async with channel_factory(mux, "127.0.0.1", link.port)(server.take) as here, WebRtcChannel(caller, client.take) as there:
            offer, answer = read_offer(there.introduction), read_answer(here.introduction)
            assert offer
            await caller.connect_to(answer.host, answer.port)
            async with asyncio.timeout(30), asyncio.TaskGroup() as both:
                both.create_task(here.open(ChannelOffer(offer.peer, video)))
                both.create_task(there.open(ChannelOffer(answer.peer)))
            yield here, there, link


@pytest.mark.parametrize("loss", [0.0, 0.1])
async def test_messages_come_whole_and_in_order_whatever_is_lost(loss: float) -> None:
    server, client = Side(), Side()
    async with talking(loss, server, client) as (here, there, link):
        sent = [bytes([number]) * (1 + number * 700) for number in range(60)]
        for message in sent:
            await here.send(FRAMES, message)
        await there.send(UNORDERED, b"ack")
        assert await client.hears(60) == [(FRAMES, message) for message in sent]
        assert await server.hears(1) == [(UNORDERED, b"ack")]
        assert bool(link.lost) == bool(loss)
        await eventually(lambda: here.usable and there.usable)  # once the last acks are there, which may have been lost


async def test_what_is_sent_once_comes_or_is_lost_and_holds_up_nothing() -> None:
    server, client = Side(), Side()
    async with talking(0.2, server, client) as (here, _, _):
        once, frames = [b"sound %d" % number for number in range(100)], [bytes([number]) * 3000 for number in range(30)]
        for number, message in enumerate(once):
            await here.send(UNORDERED, message, once=True)
            if number < len(frames):
                await here.send(FRAMES, frames[number])
        await here.send(FRAMES, b"end")
        heard = []
        while (FRAMES, b"end") not in heard:
            heard += await client.hears(1)
        assert [message for lane, message in heard if lane == FRAMES] == [*frames, b"end"]
        sounds = [message for lane, message in heard if lane == UNORDERED]
        assert 0 < len(sounds) < len(once)
        assert set(sounds) < set(once)
        await eventually(lambda: here.usable)


async def send_sound(channel: WebRtcChannel) -> None:
    while True:
        await channel.send(UNORDERED, b"sound", once=True)
        await asyncio.sleep(0.02)


async def send_much(channel: WebRtcChannel) -> None:
    for _ in range(60):
        await channel.send(FRAMES, bytes(10_000))


@pytest.mark.parametrize("send", [send_sound, send_much])
async def test_a_channel_over_which_nothing_comes_any_more_is_given_up(send: Callable[[WebRtcChannel], Coroutine[Any, Any, None]]) -> None:
    server, client = Side(), Side()
    async with talking(0.0, server, client) as (here, _, link):
        link.cut = True
        sending = asyncio.create_task(send(here))
        async with asyncio.timeout(30):
            await here.ends()
            here.give_up()
            await asyncio.wait([sending])
        assert isinstance(sending.exception(), ConnectionError)
        assert not here.usable


async def test_a_video_goes_beside_the_messages_to_who_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    server, client = Side(), Side()
    async with talking(0.0, server, client, VideoPayloadTypes(102, 103)) as (here, there, _):
        seen: asyncio.Queue[bytes] = asyncio.Queue()

        async def see(data: bytes, arrival_time_ms: int) -> None:
            seen.put_nowait(data)

        monkeypatch.setattr(there._dtls, "_handle_rtp_data", see)
        assert (here.has_track, there.has_track) == (True, False)
        await here.send_video(77, b"\x00\x00\x00\x01\x65picture", None)
        await there.send_video(77, b"\x00\x00\x00\x01\x65picture", None)  # who has no track sends nothing
        async with asyncio.timeout(30):
            packet = RtpPacket.parse(await seen.get())
        assert (packet.ssrc, packet.timestamp, packet.payload) == (SSRC, 77, b"\x65picture")
        await there._dtls._send_rtp(bytes(RtcpPsfbPacket(RTCP_PSFB_PLI, 1, SSRC)))
        await there.send(UNORDERED, b"after it")
        await server.hears(1)
        assert here.take_keyframe_request()
        assert not there.take_keyframe_request()


async def test_who_has_another_certificate_than_was_said_is_not_let_in() -> None:
    server, client = Side(), Side()
    async with UdpMux("127.0.0.1", 0) as mux:
        caller = IceClient()
        async with channel_factory(mux, "127.0.0.1", mux.port)(server.take) as here, WebRtcChannel(caller, client.take) as there:
            offer, answer = read_offer(there.introduction), read_answer(here.introduction)
            assert offer
            await caller.connect_to(answer.host, answer.port)
            other = PeerIdentity(offer.peer.name, offer.peer.password, ":".join(["00"] * 32))
            opening = asyncio.create_task(there.open(ChannelOffer(answer.peer)))
            with pytest.raises(ConnectionError):
                await here.open(ChannelOffer(other))
            opening.cancel()
            await asyncio.wait([opening])


@pytest.mark.parametrize("resolves", [False, True])
async def test_a_servers_name_is_looked_up_only_where_it_may_be(monkeypatch: pytest.MonkeyPatch, resolves: bool) -> None:
    asked: list[str] = []

    async def address_of(host: str) -> str:
        asked.append(host)
        return "192.0.2.1"

    monkeypatch.setattr(channel, "address_of", address_of)
    async with UdpMux("127.0.0.1", 0) as mux, channel_factory(mux, "said.example", mux.port, resolves=resolves)(Side().take) as here:
        answer = read_answer(here.introduction)
    assert (answer.host, answer.address) == ("said.example", "192.0.2.1" if resolves else "")
    assert asked == ["said.example"] * resolves
