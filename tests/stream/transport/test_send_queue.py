"""The send queue: what is urgent goes first, what is large waits for the pacer."""

import asyncio

import pytest

from sandbox_server.stream import wire
from sandbox_server.stream.transport.pacer import Pacer
from sandbox_server.stream.transport.send_queue import PrioritySendQueue, is_paced

pytestmark = pytest.mark.anyio

PART, POINTER, PONG, COPIED = wire.part(1, b"", last=True), wire.pointer(1, 2), wire.pong(1), wire.clipboard("text")
SOUND = bytes([wire.SOUND])


class Road:
    """Carries messages when it is told to."""

    def __init__(self) -> None:
        self.carried: list[bytes] = []
        self.open = asyncio.Event()
        self.broken: Exception | None = None

    async def carry(self, message: bytes) -> None:
        await self.open.wait()
        if self.broken:
            raise self.broken
        self.carried.append(message)


async def test_the_most_urgent_goes_first_and_equals_keep_their_order() -> None:
    road = Road()
    async with PrioritySendQueue(road.carry) as outbox:
        messages = [COPIED, PART, wire.part(2, b"", last=True), POINTER, SOUND, PONG]
        sending = [asyncio.create_task(outbox.send(message)) for message in [PART, *messages]]
        await asyncio.sleep(0)
        road.open.set()
        await asyncio.wait_for(asyncio.gather(*sending), 30)
    assert road.carried == [PONG, SOUND, POINTER, PART, PART, wire.part(2, b"", last=True), COPIED]
    assert [is_paced(message) for message in (PONG, SOUND, POINTER, PART, COPIED)] == [False, False, False, True, True]


async def test_what_the_pacer_holds_back_is_sent_in_the_end() -> None:
    road, pacer = Road(), Pacer()
    road.open.set()
    pacer.rate = 1e6
    async with asyncio.timeout(30), PrioritySendQueue(road.carry, pacer) as outbox:
        for number in range(8):
            await outbox.send(wire.part(number, bytes(20_000), last=True))
    assert len(road.carried) == 8


async def test_who_sends_learns_that_the_way_is_broken() -> None:
    road = Road()
    async with PrioritySendQueue(road.carry) as outbox:
        sending = [asyncio.create_task(outbox.send(PART)) for _ in range(2)]
        await asyncio.sleep(0)
        road.broken = OSError("broken")
        road.open.set()
        done = await asyncio.wait_for(asyncio.gather(*sending, return_exceptions=True), 30)
        assert done == [road.broken, road.broken]
        with pytest.raises(OSError, match="broken"):
            await outbox.send(PART)


async def test_what_nobody_waits_for_any_more_is_not_sent() -> None:
    road = Road()
    async with PrioritySendQueue(road.carry) as outbox:
        first = asyncio.create_task(outbox.send(PONG))
        await asyncio.sleep(0)
        given_up = asyncio.create_task(outbox.send(POINTER))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.wait([given_up])
        road.open.set()
        await asyncio.wait_for(first, 30)
        await asyncio.wait_for(outbox.send(SOUND), 30)
    assert road.carried == [PONG, SOUND]
