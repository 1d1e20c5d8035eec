"""A channel of datagrams to one viewer: ICE, DTLS and SCTP, put together from aiortc's parts; both sides of it.

A browser's RTCPeerConnection is the other side: it makes two channels, negotiated, with the numbers below, and is told where the server is.
Messages of FRAMES keep their order; those of QUICK do not wait for each other. Both are sent until they arrive: a frame that is lost is
missed for longer than it takes to send it anew, and what is new by then is in the next one. Sound is sent once: see `again`.
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
"""Where something is on its way and nothing was heard for so long, the channel is no good."""
WATCH_SECONDS = 0.05
SERVER_ROOM = 64 * 1024
CLIENT_ROOM = 1 << 20
"""Bytes of messages that are not whole."""
SCTP_PORT = 5000
MAX_MESSAGE = 256 * 1024
"""Longest message, which every browser takes."""
_FINGERPRINT = "sha-256"

type OnMessage = Callable[[int, bytes], None]


@functools.cache
def certificate() -> RTCCertificate:
    """This process's own, which the other side knows by its fingerprint."""
    return RTCCertificate.generateCertificate()


class WebRtcChannel:
    """A channel over `connection`, which ends with the context.

    `taken` is given what arrives, with its lane; `server` is where a server is reached.
    """

    def __init__(self, connection: Connection, taken: OnMessage, *, server: tuple[str, int] | None = None) -> None:
        self._place = server
        self._address = ""
        gatherer = RTCIceGatherer(iceServers=[])
        gatherer._connection = connection  # the hook that there is: the gatherer would make one that opens ports of its own
        self._gatherer = gatherer
        self._connection = connection
        self._ice = RTCIceTransport(gatherer)
        self._dtls = MediaDtlsTransport(self._ice, [certificate()])
        self._dtls._set_role("server" if server else "client")
        self._sctp = SctpAssociation(self._dtls, taken, room=SERVER_ROOM if server else CLIENT_ROOM, allows_forward_tsn=server is None)
        self._track: RtpTrack | None = None

    async def __aenter__(self) -> Self:
        await self._gatherer.gather()
        if self._place:
            self._address = await address_of(self._place[0])
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for part in (self._sctp, self._dtls, self._ice):
            await part.stop()

    @property
    def introduction(self) -> str:
        """What the other side has to know of this one: an `ChannelAnswer` of the server's, a `PeerIdentity` of the client's."""
        prints = {one.algorithm: one.value for one in self._dtls.getLocalParameters().fingerprints}
        peer = PeerIdentity(self._connection.local_username, self._connection.local_password, prints[_FINGERPRINT])
        return str(ChannelAnswer(peer, *self._place, self._address) if self._place else peer)

    async def open(self, other: ChannelOffer) -> None:
        """Wait until the other side is there. Raises TimeoutError, and ConnectionError where it cannot be trusted."""
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
        """Whether it is open, and what it sent of late got through."""
        if self._sctp.ended.is_set() or self._dtls.state != "connected" or not self._sctp.established.is_set():
            return False
        return self._sctp.answered or time.monotonic() - max(self._sctp.heard_at, self._sctp.began_at) < SILENT_SECONDS

    async def ends(self) -> None:
        """Wait until it is no good any more."""
        while self.usable:
            with suppress(TimeoutError):
                async with asyncio.timeout(WATCH_SECONDS):
                    await self._sctp.ended.wait()

    def give_up(self) -> None:
        """Use it no more."""
        self._sctp.give_up()

    def widen(self, window: float, rate: float | None) -> None:
        """Let so many bytes be on their way; `rate` is what the link takes, in bytes a second, None if nobody knows."""
        self._sctp.widen(int(window), rate)

    async def send(self, lane: int, message: bytes, *, once: bool = False) -> None:
        """Send a message, and return when all of it is on its way. Raises ConnectionError if the channel fails meanwhile.

        `once`: it is not sent anew if it is lost.
        """
        await self._sctp.send(lane, message, ordered=lane == FRAMES, once=once)

    @property
    def has_track(self) -> bool:
        """Whether the other side takes a video as a track, and may be sent one now."""
        return self._track is not None and self.usable

    async def show(self, timestamp: int, picture: bytes, rate: float | None) -> None:
        """Send the next picture of a video, at most `rate` bytes a second. Raises ConnectionError if the channel fails meanwhile."""
        if self._track:
            await self._track.send(timestamp, picture, rate)

    def take_keyframe_request(self) -> bool:
        """Whether the other side has asked for a picture that needs none before it, since the last time."""
        return self._track is not None and self._track.take_keyframe_request()


def channel_factory(mux: UdpMux, host: str, port: int) -> Callable[[OnMessage], WebRtcChannel]:
    """What makes a server's channels: each through the door, with a name and a password of its own, and where it is reached."""

    def make(taken: OnMessage) -> WebRtcChannel:
        return WebRtcChannel(IceServer(mux, secrets.token_hex(8), secrets.token_hex(16)), taken, server=(host, port))

    return make
