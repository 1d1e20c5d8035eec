"""Inbound messages that arrive over two paths are taken once, in order."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.transport.inbound import MAX_WAITING, InboundMessages

pytestmark = pytest.mark.anyio


def numbered(number: int) -> bytes:
    return number.to_bytes(4, "little") + b"said %d" % number


@settings(deadline=None, database=None)
@given(st.lists(st.integers(0, 11), max_size=40), st.integers(0, 40))
def test_each_message_is_heard_once_whichever_way_is_faster(channel: list[int], socket_from: int) -> None:
    async def hear() -> list[bytes | None]:
        inbound = InboundMessages()
        for at, number in enumerate(channel):
            if at == socket_from:
                await inbound.from_socket(b"said 0")
            inbound.from_channel(numbered(number))
        for number in range(12)[1 if socket_from < len(channel) else 0 :]:
            await inbound.from_socket(b"said %d" % number)
        await inbound.end(None)
        return [await inbound.next() for _ in range(13)]

    assert asyncio.run(hear()) == [*[b"said %d" % number for number in range(12)], None]


async def test_the_channel_waits_for_nothing_and_overtakes_nothing() -> None:
    inbound = InboundMessages()
    for number in range(MAX_WAITING):
        await inbound.from_socket(b"said %d" % number)
    waiting = asyncio.create_task(inbound.from_socket(b"said %d" % MAX_WAITING))
    await asyncio.sleep(0)
    inbound.from_channel(numbered(MAX_WAITING + 1))
    assert not inbound.hint(b"ack")
    await inbound.next()
    inbound.from_channel(numbered(MAX_WAITING + 1))
    await waiting
    heard = [await inbound.next() for _ in range(MAX_WAITING)]
    assert heard[-1] == b"said %d" % MAX_WAITING
    assert inbound.hint(b"ack")
    assert await inbound.next() == b"ack"


async def test_what_ended_it_is_raised() -> None:
    inbound = InboundMessages()
    inbound.from_channel(b"\x00")
    await inbound.end(ValueError("over"))
    with pytest.raises(ValueError, match="over"):
        await inbound.next()
