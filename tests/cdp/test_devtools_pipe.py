"""Chromium's DevTools pipe."""

import os
from collections.abc import AsyncIterator

import anyio
import pytest

from sandbox_server.cdp.devtools_pipe import UNSENT_BYTES, Pipe, open_pipe

pytestmark = pytest.mark.anyio


class Far:
    """The browser's ends of the pipe, and what arrived at ours."""

    def __init__(self) -> None:
        self.reads, self.ours_out = os.pipe()
        self.ours_in, self.writes = os.pipe()
        self.messages: list[bytes] = []
        self.ended = anyio.Event()

    async def read(self, size: int) -> bytes:
        return await anyio.to_thread.run_sync(os.read, self.reads, size)


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    far = Far()
    yield far
    for fd in (far.reads, far.writes):
        os.close(fd)


@pytest.fixture
async def pipe(far: Far) -> AsyncIterator[Pipe]:
    pipe = await open_pipe(far.ours_in, far.ours_out, far.messages.append, far.ended.set)
    yield pipe
    pipe.close()
    with anyio.fail_after(30):
        await far.ended.wait()


async def test_messages_pass_both_ways(pipe: Pipe, far: Far) -> None:
    pipe.send(b'{"id":1}')
    with anyio.fail_after(30):
        assert await far.read(100) == b'{"id":1}\0'
        os.write(far.writes, b"one\0two\0thr")
        os.write(far.writes, b"ee\0")
        while len(far.messages) < 3:
            await anyio.lowlevel.checkpoint()
    assert far.messages == [b"one", b"two", b"three"]


async def test_who_sends_more_than_is_taken_waits_until_it_is(pipe: Pipe, far: Far) -> None:
    pipe.send(b"x" * (UNSENT_BYTES * 2))
    with anyio.move_on_after(0.05) as waited:
        await pipe.writable()
    assert waited.cancelled_caught
    left = UNSENT_BYTES * 2 + 1
    with anyio.fail_after(30):
        while left:
            left -= len(await far.read(1 << 20))
        await pipe.writable()


async def test_the_browser_s_end_is_noticed_and_later_messages_are_dropped(far: Far) -> None:
    pipe = await open_pipe(far.ours_in, far.ours_out, far.messages.append, far.ended.set)
    os.close(far.writes)
    far.writes = os.open(os.devnull, os.O_WRONLY)
    with anyio.fail_after(30):
        await far.ended.wait()
    pipe.close()
    pipe.send(b"nobody reads this")
