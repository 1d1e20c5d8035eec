"""The log itself is read in a real namespace: tests/egress/test_box_network.py."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.packet_log import open_log, refused_packets

UDP4 = bytes.fromhex("45000021000040004011000000000000") + bytes([8, 8, 4, 4]) + struct.pack("!HHHH", 5000, 443, 13, 0) + b"hello"
UDP6 = (
    bytes.fromhex("60000000000d1140")
    + bytes(16)
    + bytes.fromhex("20014860486000000000000000008888")
    + struct.pack("!HHHH", 5000, 123, 13, 0)
)
PING = bytes.fromhex("45000021000040004001000000000000") + bytes([1, 1, 1, 1]) + b"\x08\0\0\0"


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def message(payload: bytes, uid: int | None = 1000, kind: int = 0x400) -> bytes:
    body = struct.pack("!BBH", 2, 0, 5) + attribute(1, b"\x08\0\3\0") + attribute(9, payload)
    body += attribute(11, struct.pack("!I", uid)) if uid is not None else b""
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body + bytes(-len(body) % 4)


@pytest.mark.parametrize(
    ("payload", "protocol", "place"),
    [(UDP4, "udp", "8.8.4.4:443"), (UDP6, "udp", "[2001:4860:4860::8888]:123"), (PING, "icmp", "1.1.1.1"), (UDP4[:20], "udp", "8.8.4.4")],
)
def test_a_packet_is_told_by_where_it_went(payload: bytes, protocol: str, place: str) -> None:
    [found] = refused_packets(message(payload))
    assert (found.protocol, str(found), found.uid) == (protocol, place, 1000)


def test_more_than_one_come_at_once_and_others_are_left_out() -> None:
    received = message(UDP4, None) + message(UDP4, kind=3) + message(b"") + message(b"\x10") + message(UDP6)
    assert [(found.port, found.uid) for found in refused_packets(received)] == [(443, None), (123, 1000)]


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything(received: bytes) -> None:
    whole = message(UDP4)
    for candidate in (received, whole[:20] + received, whole[: len(received)], message(received)):
        assert len(list(refused_packets(candidate))) <= 10


def test_who_is_not_root_of_the_namespace_has_no_log() -> None:
    with pytest.raises(OSError, match=r"packet log|permitted"):
        open_log()
