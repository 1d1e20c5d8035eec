"""What a viewer says over two ways is heard once, in order."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.transport.ears import MAX_WAITING, Ears

pytestmark = pytest.mark.anyio


def numbered(number: int) -> bytes:
    return number.to_bytes(4, "little") + b"said %d" % number


@settings(deadline=None, database=None)
@given(st.lists(st.integers(0, 11), max_size=40), st.integers(0, 40))
def test_each_message_is_heard_once_whichever_way_is_faster(channel: list[int], socket_from: int) -> None:
    async def hear() -> list[bytes | None]:
        ears = Ears()
        for at, number in enumerate(channel):
            if at == socket_from:
                await ears.socket_said(b"said 0")
            ears.channel_said(numbered(number))
        for number in range(12)[1 if socket_from < len(channel) else 0 :]:
            await ears.socket_said(b"said %d" % number)
        await ears.end(None)
        return [await ears.next() for _ in range(13)]

    assert asyncio.run(hear()) == [*[b"said %d" % number for number in range(12)], None]


async def test_the_channel_waits_for_nothing_and_overtakes_nothing() -> None:
    ears = Ears()
    for number in range(MAX_WAITING):
        await ears.socket_said(b"said %d" % number)
    waiting = asyncio.create_task(ears.socket_said(b"said %d" % MAX_WAITING))
    await asyncio.sleep(0)
    ears.channel_said(numbered(MAX_WAITING + 1))
    assert not ears.hint(b"ack")
    await ears.next()
    ears.channel_said(numbered(MAX_WAITING + 1))
    await waiting
    heard = [await ears.next() for _ in range(MAX_WAITING)]
    assert heard[-1] == b"said %d" % MAX_WAITING
    assert ears.hint(b"ack")
    assert await ears.next() == b"ack"


async def test_what_ended_it_is_raised() -> None:
    ears = Ears()
    ears.channel_said(b"\x00")
    await ears.end(ValueError("over"))
    with pytest.raises(ValueError, match="over"):
        await ears.next()
