import asyncio
import hashlib
import os
import socket
from collections.abc import Iterator

import pytest

from sandbox_server.egress import spliced_flow
from sandbox_server.egress.pipe_pool import PipePool
from sandbox_server.egress.spliced_flow import FlowCut, SplicedFlow
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Ends:
    """A program, a server, and the two sockets of a flow between them."""

    def __init__(self) -> None:
        self.pool = PipePool()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.program, self.client = self._pair(listener)
            self.server, self.outside = self._pair(listener)

    def _pair(self, listener: socket.socket) -> tuple[socket.socket, socket.socket]:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
        one.setblocking(False)
        other.setblocking(False)
        return one, other

    def flow(self) -> SplicedFlow:
        return SplicedFlow(self.pool, self.client, self.server)

    def close(self) -> None:
        for sock in (self.program, self.client, self.server, self.outside):
            sock.close()
        self.pool.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


async def send(sock: socket.socket, content: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(sock, content)


async def receive(sock: socket.socket, count: int) -> bytes:
    received = b""
    async with asyncio.timeout(30):
        while len(received) < count and (chunk := await asyncio.get_running_loop().sock_recv(sock, 1 << 20)):
            received += chunk
    return received


async def test_bytes_pass_both_ways_and_are_counted(ends: Ends) -> None:
    flow = ends.flow()
    flow.start(b"first ")
    await send(ends.program, b"up")
    await send(ends.outside, b"down")
    assert await receive(ends.outside, 8) == b"first up"
    assert await receive(ends.program, 4) == b"down"
    assert (flow.sent, flow.received) == (8, 4)
    flow.cut("")


async def test_much_passes_whole_both_ways_at_once_to_slow_readers(ends: Ends) -> None:
    content = os.urandom(1 << 20) * 24
    flow = ends.flow()
    flow.start()

    async def carried(source: socket.socket, target: socket.socket) -> str:
        sending = asyncio.ensure_future(send(source, content))
        digest, left = hashlib.sha256(), len(content)
        while left:
            chunk = await receive(target, 1)
            digest.update(chunk)
            left -= len(chunk)
            await asyncio.sleep(0)
        await sending
        return digest.hexdigest()

    expected = hashlib.sha256(content).hexdigest()
    assert set(await asyncio.gather(carried(ends.program, ends.outside), carried(ends.outside, ends.program))) == {expected}
    assert (flow.sent, flow.received) == (len(content), len(content))
    flow.cut("")


async def test_what_is_left_of_a_large_piece_is_not_held_back(ends: Ends) -> None:
    flow = ends.flow()
    flow.start()
    for count in (1, 65536, 65537, 1 << 20, 3 << 20):
        sending = asyncio.ensure_future(send(ends.program, b"x" * count))
        assert len(await receive(ends.outside, count)) == count
        await sending
    flow.cut("")


async def test_one_side_may_close_and_still_hear(ends: Ends) -> None:
    flow = ends.flow()
    flow.start()
    await send(ends.program, b"question")
    ends.program.shutdown(socket.SHUT_WR)
    assert await receive(ends.outside, 100) == b"question"
    await send(ends.outside, b"answer")
    assert await receive(ends.program, 6) == b"answer"
    assert not flow.ended.done()
    ends.outside.close()
    assert await asyncio.wait_for(flow.ended, 20) == ""
    assert await receive(ends.program, 1) == b""


async def test_a_flow_that_one_side_has_closed_and_the_other_keeps_silent_is_cut(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spliced_flow, "HALF_CLOSED_SECONDS", 0.05)
    flow = ends.flow()
    flow.start()
    ends.program.close()
    assert "one side closed it" in await asyncio.wait_for(flow.ended, 20)
    assert await receive(ends.outside, 1) == b""


async def test_a_flow_is_cut_for_both_sides(ends: Ends) -> None:
    flow = ends.flow()
    flow.start()
    flow.cut("the policy changed")
    assert await receive(ends.program, 1) == b""
    assert await receive(ends.outside, 1) == b""
    assert flow.ended.result() == "the policy changed"
    flow.cut("again")


async def test_a_flow_that_is_cut_with_bytes_in_its_pipe_spoils_no_pipe(ends: Ends) -> None:
    flow = ends.flow()
    flow.start()
    before = len(os.listdir("/proc/self/fd"))
    sending = asyncio.ensure_future(send(ends.program, b"x" * (32 << 20)))  # more than buffers hold
    await asyncio.sleep(0)
    await eventually(lambda: flow._up._held)
    flow.cut("")
    sending.cancel()
    assert ends.pool._small + ends.pool._large == []
    assert len(os.listdir("/proc/self/fd")) <= before


async def test_a_side_that_resets_ends_the_flow(ends: Ends) -> None:
    flow = ends.flow()
    flow.start()
    ends.outside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    ends.outside.close()
    assert "connection lost" in await asyncio.wait_for(flow.ended, 20)


async def test_a_screen_sees_what_the_client_says_until_it_has_seen_enough(ends: Ends) -> None:
    seen: list[bytes] = []

    def screen(received: bytes) -> tuple[bytes, bool]:
        seen.append(received)
        return (b"".join(seen), False) if len(b"".join(seen)) >= 4 else (b"", True)

    flow = ends.flow()
    flow.start(screen=screen)
    await send(ends.outside, b"greeting")
    assert await receive(ends.program, 8) == b"greeting"
    await send(ends.program, b"ab")
    await eventually(lambda: seen)
    await send(ends.program, b"cd")
    assert await receive(ends.outside, 4) == b"abcd"
    await send(ends.program, b"ef")
    assert await receive(ends.outside, 2) == b"ef"
    assert b"".join(seen) == b"abcd"
    flow.cut("")


async def test_a_screen_may_end_the_flow_before_the_server_hears_anything(ends: Ends) -> None:
    def screen(received: bytes) -> tuple[bytes, bool]:
        raise FlowCut(f"no {received.decode()}")

    flow = ends.flow()
    flow.start(screen=screen)
    await send(ends.program, b"evil")
    assert await asyncio.wait_for(flow.ended, 20) == "no evil"
    assert await receive(ends.outside, 1) == b""
