"""A WebRTC data channel to one viewer: ICE, DTLS and SCTP, assembled from aiortc's parts. Both sides of it.

A browser's RTCPeerConnection is the other side. It opens two negotiated data channels, and is told where the server is. Messages of FRAMES
are ordered, those of UNORDERED are not. Both are reliable: to miss a lost frame takes longer than to retransmit it, and what is new by then
is in the next one. Sound alone is sent once: see `audio_redundancy.py`.
"""

import asyncio
import functools
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from aioice import Connection
from aiortc.rtcdtlstransport import RTCCertificate, RTCDtlsFingerprint, RTCDtlsParameters
from aiortc.rtcicetransport import RTCIceGatherer, RTCIceParameters, RTCIceTransport
from aiortc.rtcsctptransport import RTCSctpCapabilities

from sandbox_server.stream.transport.rtp_track import MediaDtlsTransport, RtpTrack
from sandbox_server.stream.transport.sctp import SctpAssociation
from sandbox_server.stream.transport.signaling import ChannelAnswer, ChannelOffer, PeerIdentity
from sandbox_server.stream.transport.udp_mux import IceServer, UdpMux, address_of
from sandbox_server.stream.transport.viewer_transport import FRAMES

CONNECT_SECONDS = 15.0
SILENT_SECONDS = 0.6
"""A channel has failed where something is in flight and nothing has arrived for so long."""
WATCH_SECONDS = 0.05
SERVER_ROOM = 64 * 1024
CLIENT_ROOM = 1 << 20
"""Bytes of incomplete messages that are held."""
SCTP_PORT = 5000
MAX_MESSAGE = 256 * 1024
"""Longest message: every browser takes as much."""
_FINGERPRINT = "sha-256"

type OnMessage = Callable[[int, bytes], None]


@functools.cache
def certificate() -> RTCCertificate:
    """The DTLS certificate of this process, which the other side knows by its fingerprint."""
    return RTCCertificate.generateCertificate()


class WebRtcChannel:
    """A channel over an ICE connection, closed with the context.

    `on_message` is given each message with its lane. `server` is where a server is reached; None for a client.
    `resolves`: whether its name may be looked up here.
    """

    def __init__(
        self, connection: Connection, on_message: OnMessage, *, server: tuple[str, int] | None = None, resolves: bool = False
    ) -> None:
        self._server = server
        self._resolves = resolves
        self._address = ""
        gatherer = RTCIceGatherer(iceServers=[])
        gatherer._connection = connection  # the hook that there is: the gatherer would make one that opens ports of its own
        self._gatherer = gatherer
        self._connection = connection
        self._ice = RTCIceTransport(gatherer)
        self._dtls = MediaDtlsTransport(self._ice, [certificate()])
        self._dtls._set_role("server" if server else "client")
        self._sctp = SctpAssociation(self._dtls, on_message, room=SERVER_ROOM if server else CLIENT_ROOM, allows_forward_tsn=server is None)
        self._track: RtpTrack | None = None

    async def __aenter__(self) -> Self:
        await self._gatherer.gather()
        if self._server and self._resolves:
            self._address = await address_of(self._server[0])
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for part in (self._sctp, self._dtls, self._ice):
            await part.stop()

    @property
    def introduction(self) -> str:
        """What the other side has to know of this one: the server's `ChannelAnswer`, or the client's `PeerIdentity`."""
        prints = {one.algorithm: one.value for one in self._dtls.getLocalParameters().fingerprints}
        peer = PeerIdentity(self._connection.local_username, self._connection.local_password, prints[_FINGERPRINT])
        return str(ChannelAnswer(peer, *self._server, self._address) if self._server else peer)

    async def open(self, other: ChannelOffer) -> None:
        """Connect to the other side. Raises TimeoutError, and ConnectionError where its certificate is another."""
        peer = other.peer
        async with asyncio.timeout(CONNECT_SECONDS):
            await self._ice.start(RTCIceParameters(peer.name, peer.password))
            if self._ice.state == "completed":
                await self._dtls.start(RTCDtlsParameters([RTCDtlsFingerprint(_FINGERPRINT, peer.fingerprint)]))
            if self._dtls.state != "connected":
                raise ConnectionError("the other side is not who it said it is")
            await self._sctp.start(RTCSctpCapabilities(MAX_MESSAGE), SCTP_PORT)
            await self._sctp.established.wait()
        self._track = RtpTrack(self._dtls, other.video) if other.video else None

    @property
    def usable(self) -> bool:
        """Whether it is open, and what was sent recently has arrived."""
        if self._sctp.ended.is_set() or self._dtls.state != "connected" or not self._sctp.established.is_set():
            return False
        return self._sctp.answered or time.monotonic() - max(self._sctp.heard_at, self._sctp.began_at) < SILENT_SECONDS

    async def ends(self) -> None:
        """Wait until it has failed or ended."""
        while self.usable:
            with suppress(TimeoutError):
                async with asyncio.timeout(WATCH_SECONDS):
                    await self._sctp.ended.wait()

    def give_up(self) -> None:
        """Mark it as failed: it is used no more."""
        self._sctp.give_up()

    def set_window(self, window: float, rate: float | None) -> None:
        """Let so many bytes be in flight. `rate` is what the link takes, in bytes a second, None while that is unknown."""
        self._sctp.set_window(int(window), rate)

    async def send(self, lane: int, message: bytes, *, once: bool = False) -> None:
        """Send a message, and return when all of it has left. Raises ConnectionError if the channel fails meanwhile.

        `once`: it is not retransmitted if it is lost.
        """
        await self._sctp.send(lane, message, ordered=lane == FRAMES, once=once)

    @property
    def has_track(self) -> bool:
        """Whether the other side takes video as a track, and may be sent one now."""
        return self._track is not None and self.usable

    async def send_video(self, timestamp: int, picture: bytes, rate: float | None) -> None:
        """Send an access unit by the track, at up to `rate` bytes a second. Raises ConnectionError if the channel fails meanwhile."""
        if self._track:
            await self._track.send(timestamp, picture, rate)

    def take_keyframe_request(self) -> bool:
        """Whether the other side has asked for a keyframe since the last call."""
        return self._track is not None and self._track.take_keyframe_request()


def channel_factory(mux: UdpMux, host: str, port: int, *, resolves: bool = False) -> Callable[[OnMessage], WebRtcChannel]:
    """A factory of the server's channels through the multiplexer, each with ICE credentials of its own."""

    def make(on_message: OnMessage) -> WebRtcChannel:
        ice = IceServer(mux, secrets.token_hex(8), secrets.token_hex(16))
        return WebRtcChannel(ice, on_message, server=(host, port), resolves=resolves)

    return make
