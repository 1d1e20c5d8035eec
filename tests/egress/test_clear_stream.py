import asyncio
import socket
from collections.abc import Iterator

import pytest

from sandbox_server.egress.clear_stream import ClearStream
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    here.setblocking(False)
    there.settimeout(20)
    with here, there:
        yield here, there


async def test_what_was_heard_already_is_read_first(pair: tuple[socket.socket, socket.socket]) -> None:
    stream = ClearStream(pair[0], b"first")
    pair[1].sendall(b"second")
    assert [await stream.read(), await stream.read()] == [b"first", b"second"]
    pair[1].close()
    assert (await stream.read(), stream.read_bytes) == (b"", 11)


async def test_what_is_written_arrives_and_is_counted(pair: tuple[socket.socket, socket.socket]) -> None:
    stream = ClearStream(pair[0])
    await stream.write(b"")
    await stream.write(b"content")
    await stream.end()
    assert (pair[1].recv(100), pair[1].recv(100), stream.written_bytes) == (b"content", b"", 7)


async def test_who_waits_for_a_connection_that_is_cut_gets_the_end(pair: tuple[socket.socket, socket.socket]) -> None:
    stream = ClearStream(pair[0])
    reading = asyncio.ensure_future(stream.read())
    await asyncio.sleep(0)
    stream.cut()
    assert await reading == b""


async def test_a_connection_whose_server_says_something_unasked_or_ends_is_stale(pair: tuple[socket.socket, socket.socket]) -> None:
    stream = ClearStream(pair[0])
    assert not stream.stale
    pair[1].sendall(b"x")
    await eventually(lambda: stream.stale)
    assert await stream.read() == b"x"
    assert not stream.stale
    pair[1].close()
    await eventually(lambda: stream.stale)
