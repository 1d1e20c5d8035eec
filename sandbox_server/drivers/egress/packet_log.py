"""The kernel's log of packets that the rules of the namespace refuse (NFLOG): UDP, ICMP and everything else that is not TCP.

The socket is opened in the namespace, where that takes rights, and read outside.
"""

import ipaddress
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from sandbox_server.drivers.egress.protected_addresses import Address

GROUP = 5
MAX_MESSAGE = 64 << 10
_NETLINK_NETFILTER = 12
_NFNL_SUBSYS_ULOG = 4 << 8
_PACKET, _CONFIG = _NFNL_SUBSYS_ULOG, _NFNL_SUBSYS_ULOG | 1
_REQUEST, _ACK = 1, 4
_ERROR = 2
_CFG_CMD, _CFG_MODE = 1, 2
_BIND, _COPY_PACKET = 1, 2
_PAYLOAD, _UID = 9, 11
_COPIED = 128
"""Bytes of each packet: its headers."""
_HEADER, _FAMILY, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("!BBH"), struct.Struct("=HH")
_PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp", 132: "sctp"}
_WITH_PORTS = frozenset({"tcp", "udp", "sctp"})
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RefusedPacket:
    """A packet that was refused, and the user who sent it; None if the kernel does not say."""

    protocol: str
    address: Address
    port: int
    uid: int | None

    def __str__(self) -> str:
        place = f"[{self.address}]" if self.address.version == 6 else str(self.address)
        return f"{place}:{self.port}" if self.port else place


def open_log() -> socket.socket:
    """Open the log of this process's network namespace, of which it is root. Raises OSError."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_NETFILTER)
    try:
        sock.settimeout(_SECONDS)
        sock.bind((0, 0))
        _configure(sock, _CFG_CMD, struct.pack("B", _BIND))
        _configure(sock, _CFG_MODE, struct.pack("!IBB", _COPIED, _COPY_PACKET, 0))
    except BaseException:
        sock.close()
        raise
    return sock


def _configure(sock: socket.socket, kind: int, value: bytes) -> None:
    """Send one setting of the group, and wait for the kernel's answer, behind packets that come before it."""
    body = _FAMILY.pack(socket.AF_UNSPEC, 0, GROUP) + _attribute(kind, value)
    sock.send(_HEADER.pack(_HEADER.size + len(body), _CONFIG, _REQUEST | _ACK, 1, 0) + body)
    while True:
        for message_kind, content in _messages(sock.recv(MAX_MESSAGE)):
            if message_kind == _ERROR:
                number = -int(struct.unpack_from("=i", content)[0])
                if number:
                    raise OSError(number, "the packet log cannot be opened")
                return


def _attribute(kind: int, value: bytes) -> bytes:
    length = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(length, kind) + value + bytes(-length % 4)


def refused_packets(received: bytes) -> Iterator[RefusedPacket]:
    """Read what came from the log. What is malformed is left out."""
    for kind, content in _messages(received):
        if kind == _PACKET:
            attributes = dict(_attributes(content[_FAMILY.size :]))
            uid = attributes.get(_UID, b"")
            packet = _packet(attributes.get(_PAYLOAD, b""), int.from_bytes(uid) if len(uid) == 4 else None)
            if packet:
                yield packet


def _messages(received: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + _HEADER.size <= len(received):
        length, kind, *_ = _HEADER.unpack_from(received, position)
        if not _HEADER.size <= length <= len(received) - position:
            return
        yield kind, received[position + _HEADER.size : position + length]
        position += length + -length % 4


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + _ATTRIBUTE.size <= len(content):
        length, kind = _ATTRIBUTE.unpack_from(content, position)
        if not _ATTRIBUTE.size <= length <= len(content) - position:
            return
        yield kind & 0x3FFF, content[position + _ATTRIBUTE.size : position + length]
        position += length + -length % 4


def _packet(content: bytes, uid: int | None) -> RefusedPacket | None:
    """Read a packet's headers. An extension header of IPv6 is not followed, and leaves the protocol unknown."""
    version = content[0] >> 4 if content else 0
    if version == 4 and len(content) >= 20:
        end, number, address = (content[0] & 15) * 4, content[9], ipaddress.ip_address(content[16:20])
    elif version == 6 and len(content) >= 40:
        end, number, address = 40, content[6], ipaddress.ip_address(content[24:40])
    else:
        return None
    protocol = _PROTOCOLS.get(number, f"protocol {number}")
    ports = content[end + 2 : end + 4] if protocol in _WITH_PORTS else b""
    return RefusedPacket(protocol, address, int.from_bytes(ports), uid)
