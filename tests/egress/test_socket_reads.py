import socket

import pytest

from sandbox_server.egress.socket_reads import read_exactly

pytestmark = pytest.mark.anyio


async def test_no_byte_more_is_read_than_was_asked_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(b"abcdef")
        assert [await read_exactly(ours, count) for count in (4, 0, 1)] == [b"abcd", b"", b"e"]
        assert ours.recv(10) == b"f"


async def test_a_connection_that_ends_before_is_told() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        theirs.sendall(b"ab")
        theirs.close()
        with pytest.raises(EOFError):
            await read_exactly(ours, 3)
