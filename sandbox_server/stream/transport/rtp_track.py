"""An RTP track of H.264, for browsers without WebCodecs: access units leave as they were encoded.

It uses aiortc's packets and packetiser (RFC 6184), and not its RTCRtpSender. That would pull pictures when it likes, send all packets of
one at once, and retransmit as often as it is asked to.
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
from aiortc.codecs.h264 import H264Encoder as Packetizer
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

SSRC, RTX_SSRC = 1001, 1002
"""SSRC of the track, and of its retransmissions (RFC 4588). A connection has one track."""
NAME = "desktop"
HISTORY_PACKETS = 1024
HISTORY_SECONDS = 1.0
"""Packets older than this are not retransmitted."""
MOST_RETRANSMISSIONS = 3
"""Times that one packet is retransmitted, whatever the viewer asks for."""
KEYFRAME_SECONDS = 0.5
"""Least time between two keyframes that a viewer asks for: they are large."""
REPORT_SECONDS = 1.0
_TICKS = Fraction(1, 90_000)
_MASK_16 = 0xFFFF
_BROKEN = (ValueError, IndexError, struct.error)


class MediaDtlsTransport(RTCDtlsTransport):
    """A DTLS transport for a send-only track. Malformed RTCP is dropped, and so is any media of the viewer's."""

    async def _handle_rtcp_data(self, data: bytes) -> None:
        try:
            await super()._handle_rtcp_data(data)
        except _BROKEN:
            return

    async def _handle_rtp_data(self, data: bytes, arrival_time_ms: int) -> None:
        """Drop media of the viewer's: nobody asked for it."""


@dataclass(slots=True)
class _SentPacket:
    packet: RtpPacket
    at: float
    retransmissions: int = 0


class RtpTrack:
    """The video track of one viewer."""

    def __init__(self, dtls: RTCDtlsTransport, video: VideoPayloadTypes) -> None:
        self._ssrc = SSRC
        self._dtls = dtls
        self._video = video
        self._packetizer = Packetizer()
        self._number = random.randrange(1 << 15)  # RFC 3711 wants no early turn of the counter
        self._rtx_number = random.randrange(1 << 15)
        self._history: dict[int, _SentPacket] = {}
        self._numbers: deque[int] = deque()
        self._keyframe_requested = False
        self._keyframe_at = -KEYFRAME_SECONDS
        self._packets = self._octets = 0
        self._reported = 0.0
        dtls._register_rtp_sender(self, RTCRtpSendParameters())

    def take_keyframe_request(self) -> bool:
        """Whether the viewer has asked for a keyframe (PLI or FIR) since the last call."""
        now = time.monotonic()
        if not self._keyframe_requested or now - self._keyframe_at < KEYFRAME_SECONDS:
            return False
        self._keyframe_requested, self._keyframe_at = False, now
        return True

    async def send(self, timestamp: int, picture: bytes, rate: float | None) -> None:
        """Send an access unit (H.264, Annex B) at up to `rate` bytes a second. Raises ConnectionError."""
        packet = av.Packet(picture)
        packet.pts, packet.time_base = timestamp, _TICKS
        payloads, _ = self._packetizer.pack(packet)
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
        self._remember(packet, time.monotonic())
        self._number = (self._number + 1) & _MASK_16
        self._packets += 1
        self._octets += len(packet.payload)

    def _remember(self, packet: RtpPacket, now: float) -> None:
        self._history[packet.sequence_number] = _SentPacket(packet, now)
        self._numbers.append(packet.sequence_number)
        if len(self._numbers) > HISTORY_PACKETS:
            del self._history[self._numbers.popleft()]

    async def _report(self, timestamp: int) -> None:
        """Send a sender report (RFC 3550, section 6.4.1) every REPORT_SECONDS."""
        now = time.monotonic()
        if now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        info = RtcpSenderInfo(clock.current_ntp_time(), timestamp, self._packets & 0xFFFFFFFF, self._octets & 0xFFFFFFFF)
        name = RtcpSdesPacket([RtcpSourceInfo(SSRC, [(1, NAME.encode())])])
        await self._dtls._send_rtp(bytes(RtcpSrPacket(SSRC, info)) + bytes(name))

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        """Take the viewer's feedback: NACK is answered by retransmission, PLI and FIR by a keyframe."""
        if isinstance(packet, RtcpRtpfbPacket) and packet.fmt == RTCP_RTPFB_NACK:
            for number in packet.lost:
                await self._retransmit(number)
        elif isinstance(packet, RtcpPsfbPacket):
            self._keyframe_requested |= packet.fmt in (RTCP_PSFB_FIR, RTCP_PSFB_PLI)

    async def _retransmit(self, number: int) -> None:
        sent = self._history.get(number)
        if sent is None or sent.retransmissions >= MOST_RETRANSMISSIONS or time.monotonic() - sent.at > HISTORY_SECONDS:
            return
        sent.retransmissions += 1
        packet = wrap_rtx(sent.packet, payload_type=self._video.retransmission, sequence_number=self._rtx_number, ssrc=RTX_SSRC)
        self._rtx_number = (self._rtx_number + 1) & _MASK_16
        await self._dtls._send_rtp(packet.serialize())
