"""Validation of SCTP packets before aiortc parses them.

aiortc's parser trusts the peer: a parameter without length would make it loop for ever, and a few ranges in an ack hold it up for seconds.
"""

import struct
from collections.abc import Iterator

STREAMS = 2
MAX_MISSING = 4096
"""Packets that the ranges of one ack may cover."""
_HEAD, _PACKET_HEAD, _SACK_HEAD, _INIT_HEAD = 4, 12, 12, 16
_DATA, _INIT, _INIT_ACK, _SACK, _HEARTBEAT, _HEARTBEAT_ACK, _ABORT, _ERROR, _COOKIE, _COOKIE_ACK = 0, 1, 2, 3, 4, 5, 6, 9, 10, 11
_FORWARD = 192
"""FORWARD-TSN (RFC 3758)."""
_PLAIN = frozenset({_COOKIE, _COOKIE_ACK})
_WITH_PARAMETERS = {_INIT: _INIT_HEAD, _INIT_ACK: _INIT_HEAD, _HEARTBEAT: 0, _HEARTBEAT_ACK: 0, _ABORT: 0, _ERROR: 0}
"""Types of chunks that have parameters, with the offset of the first."""


def is_valid(packet: bytes, *, allows_forward_tsn: bool = False) -> bool:
    """Whether aiortc may parse a packet: its chunks are of types that are used here, and their parameters and ranges are bounded.

    `allows_forward_tsn`: whether the peer may skip what is missing.
    """
    at = _PACKET_HEAD
    while at + _HEAD <= len(packet):
        kind, _, length = struct.unpack_from("!BBH", packet, at)
        if length < _HEAD or at + length > len(packet) or not _is_valid_chunk(kind, packet[at + _HEAD : at + length], allows_forward_tsn):
            return False
        at += (length + 3) & ~3
    return True


def _is_valid_chunk(kind: int, body: bytes, allows_forward_tsn: bool) -> bool:
    if kind == _DATA:
        return len(body) >= 12 and struct.unpack_from("!H", body, 4)[0] < STREAMS
    if kind == _SACK:
        return len(body) >= _SACK_HEAD and sum(_ranges(body)) <= MAX_MISSING
    if kind == _FORWARD:
        return (
            allows_forward_tsn
            and len(body) >= 4
            and len(body) % 4 == 0
            and all(stream < STREAMS for stream, _ in struct.iter_unpack("!HH", body[4:]))
        )
    if kind in _WITH_PARAMETERS:
        return _has_valid_parameters(body[_WITH_PARAMETERS[kind] :])
    return kind in _PLAIN


def _ranges(body: bytes) -> Iterator[int]:
    count = struct.unpack_from("!H", body, 8)[0]
    for at in range(_SACK_HEAD, min(len(body) - 3, _SACK_HEAD + 4 * count), 4):
        first, last = struct.unpack_from("!HH", body, at)
        yield max(0, last - first) + 1


def _has_valid_parameters(body: bytes) -> bool:
    at = 0
    while at + _HEAD <= len(body):
        length = struct.unpack_from("!H", body, at + 2)[0]
        if length < _HEAD:
            return False
        at += (length + 3) & ~3
    return True
