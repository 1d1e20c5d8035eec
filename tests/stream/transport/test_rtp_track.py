"""The RTP track: access units arrive as they were encoded, losses are retransmitted, and malformed RTCP is dropped."""

import asyncio

import pytest
from aiortc.codecs.h264 import h264_depayload
from aiortc.rtcicetransport import RTCIceGatherer, RTCIceTransport
from aiortc.rtp import (
    RTCP_PSFB_FIR,
    RTCP_PSFB_PLI,
    RTCP_RTPFB_NACK,
    RtcpPacket,
    RtcpPsfbPacket,
    RtcpRtpfbPacket,
    RtcpSrPacket,
    RtpPacket,
    unwrap_rtx,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.codecs.h264 import H264Encoder
from sandbox_server.stream.transport.channel import certificate
from sandbox_server.stream.transport.rtp_track import KEYFRAME_SECONDS, MOST_RETRANSMISSIONS, RTX_SSRC, SSRC, MediaDtlsTransport, RtpTrack
from sandbox_server.stream.transport.signaling import VideoPayloadTypes
from tests.stream.screens import framed, photograph

pytestmark = pytest.mark.anyio

VIDEO = VideoPayloadTypes(102, 103)
SIZE = (320, 240)


class Wire(MediaDtlsTransport):
    """DTLS whose other side is this list; as if it were open."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._recipients: list[RtpTrack] = []

    def _register_rtp_sender(self, sender: object, parameters: object) -> None:
        assert isinstance(sender, RtpTrack)
        self._recipients.append(sender)

    async def _send_rtp(self, data: bytes) -> None:
        self.sent.append(data)

    def packets(self, ssrc: int = SSRC) -> list[RtpPacket]:
        """What was sent of media since the last time."""
        media = [RtpPacket.parse(data) for data in self.sent if not 192 <= data[1] <= 208]
        return [packet for packet in media if packet.ssrc == ssrc]


def pictures(count: int) -> list[bytes]:
    """Access units, the first of which needs none before it."""
    encoder, made = H264Encoder((0, 0, *SIZE), 8_000_000), []
    for number in range(count):
        encoder.capture(framed(photograph(SIZE, number)))
        made.append(encoder.encode(8_000_000)[0])
    return made


def joined(packets: list[RtpPacket]) -> bytes:
    return b"".join(h264_depayload(packet.payload) for packet in packets)


def units(picture: bytes) -> list[bytes]:
    """What is between the start codes, which may have three bytes or four."""
    return [unit.rstrip(b"\x00") for unit in picture.split(b"\x00\x00\x01") if unit.rstrip(b"\x00")]


async def test_pictures_arrive_as_they_were_compressed() -> None:
    wire = Wire()
    track = RtpTrack(wire, VIDEO)
    made = pictures(3)
    for number, picture in enumerate(made):
        await track.send(number * 3000, picture, None)
    packets = wire.packets()
    numbers = [packet.sequence_number for packet in packets]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert {packet.payload_type for packet in packets} == {VIDEO.picture}
    for number, picture in enumerate(made):
        own = [packet for packet in packets if packet.timestamp == number * 3000]
        assert units(joined(own)) == units(picture)
        assert [packet.marker for packet in own] == [0] * (len(own) - 1) + [1]
    [report] = [data for data in wire.sent if 192 <= data[1] <= 208]
    first = RtcpPacket.parse(report)[0]
    assert isinstance(first, RtcpSrPacket)
    assert first.sender_info.packet_count == len([packet for packet in packets if packet.timestamp == 0])


async def test_a_large_picture_is_spaced() -> None:
    wire, picture = Wire(), b"\x00\x00\x00\x01\x65" + bytes(range(1, 256)) * 400
    sending = asyncio.create_task(RtpTrack(wire, VIDEO).send(0, picture, 1.0))
    await asyncio.sleep(0)
    assert 0 < len(joined(wire.packets())) < len(picture) / 2
    sending.cancel()
    await asyncio.wait([sending])


async def test_what_is_lost_is_sent_anew_but_not_for_ever() -> None:
    wire = Wire()
    track = RtpTrack(wire, VIDEO)
    await track.send(0, pictures(1)[0], None)
    lost = wire.packets()[1]
    asked = RtcpRtpfbPacket(RTCP_RTPFB_NACK, 1, SSRC, [lost.sequence_number, (lost.sequence_number - 100) & 0xFFFF])
    for _ in range(MOST_RETRANSMISSIONS + 2):
        await track._handle_rtcp_packet(asked)
    anew = wire.packets(RTX_SSRC)
    assert [unwrap_rtx(packet, VIDEO.picture, SSRC).payload for packet in anew] == [lost.payload] * MOST_RETRANSMISSIONS
    assert {packet.payload_type for packet in anew} == {VIDEO.retransmission}


@pytest.mark.parametrize("kind", [RTCP_PSFB_PLI, RTCP_PSFB_FIR])
async def test_who_cannot_go_on_is_made_a_whole_picture_now_and_then(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("sandbox_server.stream.transport.rtp_track.time.monotonic", lambda: clock[0])
    track = RtpTrack(Wire(), VIDEO)
    assert not track.take_keyframe_request()
    await track._handle_rtcp_packet(RtcpPsfbPacket(kind, 1, SSRC))
    assert track.take_keyframe_request()
    assert not track.take_keyframe_request()
    await track._handle_rtcp_packet(RtcpPsfbPacket(kind, 1, SSRC))
    assert not track.take_keyframe_request()
    clock[0] += KEYFRAME_SECONDS
    assert track.take_keyframe_request()


@settings(deadline=None, database=None)
@given(st.binary(max_size=64), st.integers(200, 206), st.integers(0, 31))
def test_what_is_no_sound_report_is_dropped(body: bytes, kind: int, count: int) -> None:
    body += bytes(-len(body) % 4)
    report = bytes([0x80 | count, kind, 0, len(body) // 4]) + body
    asyncio.run(hear(report))


@pytest.mark.parametrize("estimate", [b"REMB\xff\x00\x00\x00", b"REMB"])
def test_an_estimate_that_is_cut_off_is_dropped(estimate: bytes) -> None:
    asyncio.run(hear(b"\x8f\xce" + (2 + len(estimate) // 4).to_bytes(2, "big") + bytes(8) + estimate))


async def hear(report: bytes) -> None:
    """Take a report as it comes out of SRTCP; raises what would end the channel, and fails where a request after it is not heard."""
    dtls = MediaDtlsTransport(RTCIceTransport(RTCIceGatherer(iceServers=[])), [certificate()])
    track = RtpTrack(dtls, VIDEO)
    await dtls._handle_rtcp_data(report)
    await dtls._handle_rtp_data(report, 0)
    await dtls._handle_rtcp_data(bytes(RtcpPsfbPacket(RTCP_PSFB_PLI, 1, SSRC)))
    assert track.take_keyframe_request()
