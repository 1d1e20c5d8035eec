import os
import socket
from collections.abc import Iterator

import pytest
from anyio import create_task_group, to_thread

from sandbox_server.drivers.files import message_frames
from sandbox_server.drivers.files.message_frames import BrokenFrame, WorkerFrame
from sandbox_server.drivers.files.worker_channel import FileWorkerChannel, NotSent

pytestmark = pytest.mark.anyio


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


async def test_a_large_frame_goes_and_comes_whole_with_its_descriptors(pair: tuple[socket.socket, socket.socket]) -> None:
    payload = os.urandom(2 << 20)
    channel = FileWorkerChannel(pair[0])

    def echo() -> None:
        frame = message_frames.receive(pair[1])
        assert frame is not None
        message_frames.send(pair[1], frame)
        frame.close()

    async with create_task_group() as group:
        group.start_soon(to_thread.run_sync, echo)
        readable, writable = os.pipe()
        await channel.send(WorkerFrame({"n": 1}, payload, [writable]))
        os.close(writable)
        answer = await channel.receive()
    assert (answer.header, answer.payload == payload) == ({"n": 1}, True)
    os.write(answer.fds[0], b"!")
    assert os.read(readable, 1) == b"!"
    answer.close()
    os.close(readable)


async def test_a_worker_that_is_gone_got_nothing(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[1].close()
    with pytest.raises(NotSent):
        await FileWorkerChannel(pair[0]).send(WorkerFrame({}))


async def test_a_worker_that_goes_away_is_an_error(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[1].close()
    with pytest.raises(BrokenFrame, match="went away"):
        await FileWorkerChannel(pair[0]).receive()
