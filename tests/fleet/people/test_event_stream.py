"""Server-sent events of a sandbox, of which nothing is believed."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tandem_fleet.people import event_stream
from tandem_fleet.people.answers import UnusableAnswer
from tandem_fleet.people.event_stream import paced, read_events

pytestmark = pytest.mark.anyio


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    """They come one after the other."""
    for chunk in chunks:
        yield chunk


async def test_events_come_whole_however_they_are_cut() -> None:
    text = b": hello\n\nid: 1\nevent: one\ndata: a\ndata: b\n\ndata:c\r\n\r\nevent: empty\n\ndata: never ended"
    for size in (1, 3, 1000):
        cut = [text[at : at + size] for at in range(0, len(text), size)]
        assert [event async for event in read_events(pieces(*cut))] == [("one", b"a\nb"), ("message", b"c")]


@pytest.mark.parametrize("piece", [b"x" * 1000, b"data: x\n" * 100])
async def test_one_that_does_not_end_is_not_kept(piece: bytes) -> None:
    with pytest.raises(UnusableAnswer, match="too large"):
        [event async for event in read_events(pieces(*[piece] * 20_000))]


async def test_who_sends_fast_is_read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert len([piece async for piece in paced(pieces(*[b"x" * event_stream.BYTES_A_SECOND] * 3))]) == 3
    assert slept[-1] > 0.5
    slept.clear()
    assert len([piece async for piece in paced(pieces(b"x", b"y"))]) == 2
    assert sum(slept) < 0.1
