"""A video as an RTP track, for browsers without WebCodecs: its pictures leave as they were compressed.

aiortc's packets and packetiser (RFC 6184). Its RTCRtpSender would take pictures when it likes, send all of a picture at once, and anything
anew as often as it is asked to.
"""

import asyncio
import random
import struct
import time
from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import av
from aiortc import clock
from aiortc.codecs.h264 import H264Encoder
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import RTCRtpSendParameters
from aiortc.rtp import (
    RTCP_PSFB_FIR,
    RTCP_PSFB_PLI,
    RTCP_RTPFB_NACK,
    AnyRtcpPacket,
    RtcpPsfbPacket,
    RtcpRtpfbPacket,
    RtcpSdesPacket,
    RtcpSenderInfo,
    RtcpSourceInfo,
    RtcpSrPacket,
    RtpPacket,
    wrap_rtx,
)

from sandbox_server.stream.transport.pacer import BURST_BYTES
from sandbox_server.stream.transport.signaling import VideoPayloadTypes

SSRC, ANEW_SSRC = 1001, 1002
"""Of what is sent, and of what is sent anew (RFC 4588); a connection has one track."""
NAME = "desktop"
KEPT_PACKETS = 1024
KEPT_SECONDS = 1.0
"""What is missed later is not worth sending anew."""
MOST_ANEW = 3
"""Times that a packet is sent anew, whatever the viewer asks for."""
WHOLE_SECONDS = 0.5
"""Between two pictures that are large because they need none before them."""
REPORT_SECONDS = 1.0
_TICKS = Fraction(1, 90_000)
_MASK_16 = 0xFFFF
_BROKEN = (ValueError, IndexError, struct.error)


class MediaDtlsTransport(RTCDtlsTransport):
    """DTLS over which a track may go. What is no sound report is dropped, and so is any media of the viewer's."""

    async def _handle_rtcp_data(self, data: bytes) -> None:
        try:
            await super()._handle_rtcp_data(data)
        except _BROKEN:
            return

    async def _handle_rtp_data(self, data: bytes, arrival_time_ms: int) -> None:
        """Nobody asked for it."""


@dataclass(slots=True)
class _SentPacket:
    packet: RtpPacket
    at: float
    anew: int = 0


class RtpTrack:
    """The track of one viewer."""

    def __init__(self, dtls: RTCDtlsTransport, video: VideoPayloadTypes) -> None:
        self._ssrc = SSRC
        self._dtls = dtls
        self._video = video
        self._packer = H264Encoder()
        self._number = random.randrange(1 << 15)  # RFC 3711 wants no early turn of the counter
        self._number_anew = random.randrange(1 << 15)
        self._kept: dict[int, _SentPacket] = {}
        self._order: deque[int] = deque()
        self._lost = False
        self._whole_at = -WHOLE_SECONDS
        self._packets = self._octets = 0
        self._reported = 0.0
        dtls._register_rtp_sender(self, RTCRtpSendParameters())

    def take_keyframe_request(self) -> bool:
        """Whether the viewer has asked, since the last time, for a picture that needs none before it."""
        now = time.monotonic()
        if not self._lost or now - self._whole_at < WHOLE_SECONDS:
            return False
        self._lost, self._whole_at = False, now
        return True

    async def send(self, timestamp: int, picture: bytes, rate: float | None) -> None:
        """Send a picture, an access unit in Annex B, at most `rate` bytes a second. Raises ConnectionError."""
        packet = av.Packet(picture)
        packet.pts, packet.time_base = timestamp, _TICKS
        payloads, _ = self._packer.pack(packet)
        burst = 0
        for left, payload in zip(range(len(payloads) - 1, -1, -1), payloads, strict=True):
            await self._send_one(RtpPacket(self._video.picture, int(not left), self._number, timestamp, SSRC, payload))
            burst += len(payload)
            if rate and burst > BURST_BYTES:
                await asyncio.sleep(burst / rate)
                burst = 0
        await self._report(timestamp)

    async def _send_one(self, packet: RtpPacket) -> None:
        await self._dtls._send_rtp(packet.serialize())
        self._keep(packet, time.monotonic())
        self._number = (self._number + 1) & _MASK_16
        self._packets += 1
        self._octets += len(packet.payload)

    def _keep(self, packet: RtpPacket, now: float) -> None:
        self._kept[packet.sequence_number] = _SentPacket(packet, now)
        self._order.append(packet.sequence_number)
        if len(self._order) > KEPT_PACKETS:
            del self._kept[self._order.popleft()]

    async def _report(self, timestamp: int) -> None:
        """Say what was sent (RFC 3550, section 6.4.1), now and then."""
        now = time.monotonic()
        if now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        info = RtcpSenderInfo(clock.current_ntp_time(), timestamp, self._packets & 0xFFFFFFFF, self._octets & 0xFFFFFFFF)
        name = RtcpSdesPacket([RtcpSourceInfo(SSRC, [(1, NAME.encode())])])
        await self._dtls._send_rtp(bytes(RtcpSrPacket(SSRC, info)) + bytes(name))

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        """Take a report of the viewer's: what it misses is sent anew, and where that does not help, a whole picture is made."""
        if isinstance(packet, RtcpRtpfbPacket) and packet.fmt == RTCP_RTPFB_NACK:
            for number in packet.lost:
                await self._send_anew(number)
        elif isinstance(packet, RtcpPsfbPacket):
            self._lost |= packet.fmt in (RTCP_PSFB_FIR, RTCP_PSFB_PLI)

    async def _send_anew(self, number: int) -> None:
        kept = self._kept.get(number)
        if kept is None or kept.anew >= MOST_ANEW or time.monotonic() - kept.at > KEPT_SECONDS:
            return
        kept.anew += 1
        packet = wrap_rtx(kept.packet, payload_type=self._video.anew, sequence_number=self._number_anew, ssrc=ANEW_SSRC)
        self._number_anew = (self._number_anew + 1) & _MASK_16
        await self._dtls._send_rtp(packet.serialize())
