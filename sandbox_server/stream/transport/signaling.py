"""Signaling of a WebRTC data channel: each side's ICE credentials and the fingerprint of its DTLS certificate. Sans-io.

Signals travel over the WebSocket alone, so only an admitted viewer can open a channel. They carry no address of the viewer's: the server
answers whoever knows the password, and sends nothing to anybody else.
"""

import re
from dataclasses import dataclass

from sandbox_server.stream.wire import MalformedMessage

INVITED, ANSWERED, ENDED = range(3)
"""Kinds of the server's signal."""
MAX_SIGNAL = 1024
_NAME = r"[A-Za-z0-9+/]{4,256}"
_PASSWORD = r"[A-Za-z0-9+/]{22,256}"
_FINGERPRINT = r"[0-9A-F]{2}(?::[0-9A-F]{2}){31}"
_PAYLOAD_TYPE = r"3[5-9]|[45][0-9]|6[0-3]|9[6-9]|1[01][0-9]|12[0-7]"
"""Payload types that RFC 8860 leaves free beside RTCP."""
_PEER = re.compile(f"({_NAME}) ({_PASSWORD}) ({_FINGERPRINT})")
_OFFER = re.compile(f"{_PEER.pattern}(?: ({_PAYLOAD_TYPE}) ({_PAYLOAD_TYPE}))?")
_ANSWER = re.compile(_PEER.pattern + r" ([A-Za-z0-9.:_-]{1,253}) ([0-9]{1,5})(?: ([0-9.]{7,15}))?")
MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """One side: its ICE user name and password (RFC 8445), and the SHA-256 fingerprint of its certificate as in SDP (RFC 8122)."""

    name: str
    password: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.name} {self.password} {self.fingerprint}"


@dataclass(frozen=True, slots=True)
class VideoPayloadTypes:
    """The RTP payload types that a viewer takes: of H.264 (RFC 6184), and of its retransmissions (RFC 4588)."""

    picture: int
    retransmission: int


@dataclass(frozen=True, slots=True)
class ChannelOffer:
    """The viewer's side. With `video` it takes video as an RTP track."""

    peer: PeerIdentity
    video: VideoPayloadTypes | None = None

    def __str__(self) -> str:
        return f"{self.peer} {self.video.picture} {self.video.retransmission}" if self.video else str(self.peer)


@dataclass(frozen=True, slots=True)
class ChannelAnswer:
    """The server's side, and where it is reached. `address` is what `host` resolves to, if it is a name."""

    peer: PeerIdentity
    host: str
    port: int
    address: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.peer), self.host, str(self.port), self.address)))


def read_offer(text: str) -> ChannelOffer | None:
    """Parse a viewer's offer; None if it says that its channel has ended. Raises MalformedMessage."""
    if not text:
        return None
    found = _OFFER.fullmatch(text) if len(text) <= MAX_SIGNAL else None
    if not found:
        raise MalformedMessage("an offer is an ICE name, a password, a fingerprint, and payload types or none")
    return ChannelOffer(PeerIdentity(*found.groups()[:3]), VideoPayloadTypes(int(found[4]), int(found[5])) if found[4] else None)


def read_answer(text: str) -> ChannelAnswer:
    """Parse the server's answer. Raises MalformedMessage."""
    found = _ANSWER.fullmatch(text) if len(text) <= MAX_SIGNAL else None
    if not found or not 0 < int(found[5]) <= MAX_PORT:
        raise MalformedMessage("an answer is a name, a password, a fingerprint, a host, a port, and an address or none")
    return ChannelAnswer(PeerIdentity(*found.groups()[:3]), found[4], int(found[5]), found[6] or "")
