"""Validation of SCTP packets. That an invalid one ends the association is tested with that."""

import struct

import pytest

from sandbox_server.stream.transport.sctp_validation import is_valid


def chunk(kind: int, body: bytes) -> bytes:
    return struct.pack("!BBH", kind, 0, 4 + len(body)) + body + bytes(-len(body) % 4)


@pytest.mark.parametrize("body", [b"", bytes(3), bytes(6), bytes(4) + struct.pack("!HH", 2, 0)], ids=range(4))
def test_what_is_to_be_skipped_is_told_soundly(body: bytes) -> None:
    head = bytes(12)
    assert is_valid(head + chunk(192, bytes(4) + struct.pack("!HH", 1, 7)), allows_forward_tsn=True)
    assert not is_valid(head + chunk(192, body), allows_forward_tsn=True)
