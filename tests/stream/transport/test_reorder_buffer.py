"""The reorder buffer: each frame once, whole and in turn, however its parts arrive."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream import wire
from sandbox_server.stream.transport import reorder_buffer as module
from sandbox_server.stream.transport.reorder_buffer import ReorderBuffer
from sandbox_server.stream.wire import MalformedMessage

SOCKET, CHANNEL = range(2)


def frame(number: int, parts: int = 2) -> list[bytes]:
    return [wire.part(number, bytes([0x63, part]), last=part == parts - 1) for part in range(parts)]


def done(buffer: ReorderBuffer, came: list[tuple[int, bytes]]) -> list[bytes]:
    return [ready for path, message in came for ready in buffer.take(path, message)]


def test_frames_of_one_way_come_as_they_were_sent() -> None:
    sent = [wire.hello(1, 0, 8, 8), *frame(1), wire.pong(3), wire.size(4, 4), *frame(2, 1), *frame(3, 3)]
    assert done(ReorderBuffer(), [(SOCKET, message) for message in sent]) == sent


def test_what_is_ahead_of_its_time_waits() -> None:
    buffer = ReorderBuffer()
    assert done(buffer, [(CHANNEL, message) for message in frame(2)]) == []
    assert done(buffer, [(SOCKET, message) for message in frame(1)]) == [*frame(1), *frame(2)]


def test_what_comes_a_second_time_over_the_other_way_is_done_once() -> None:
    buffer = ReorderBuffer()
    assert done(buffer, [(CHANNEL, wire.size(9, 9)), *[(CHANNEL, message) for message in frame(1, 3)[:2]]]) == [
        wire.size(9, 9),
        *frame(1, 3)[:2],
    ]
    again = [wire.size(9, 9), *frame(1, 3), *frame(2)]
    assert done(buffer, [(SOCKET, message) for message in again]) == [frame(1, 3)[2], *frame(2)]
    assert done(buffer, [(CHANNEL, frame(1, 3)[2])]) == []


@settings(deadline=None, database=None)
@given(st.data(), st.integers(1, 12))
def test_a_channel_may_fail_at_any_moment(data: st.DataObject, frames: int) -> None:
    """Frames begin over the socket and go on over the channel, which fails; the socket then has all that was not acknowledged."""
    sent = [frame(number, data.draw(st.integers(1, 4))) for number in range(1, frames + 1)]
    moved = data.draw(st.integers(0, frames))
    beside = [(CHANNEL, part) for parts in sent[moved:] for part in parts]
    arrived = beside[: data.draw(st.integers(0, len(beside)))]
    whole = sum(part[1] & wire.LAST for _, part in arrived)
    acked = data.draw(st.integers(moved, moved + whole))
    socket = [(SOCKET, part) for parts in [*sent[:moved], *sent[acked:]] for part in parts]
    came = mixed(data, arrived, socket)
    assert done(ReorderBuffer(), came) == [part for parts in sent for part in parts]


def mixed(data: st.DataObject, one: list[tuple[int, bytes]], other: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Both in their own order, but anyhow to each other."""
    first = data.draw(st.permutations([True] * len(one) + [False] * len(other)))
    left, right = iter(one), iter(other)
    return [next(left) if of_one else next(right) for of_one in first]


def test_what_is_held_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HELD_BYTES", 100)
    buffer = ReorderBuffer()
    buffer.take(CHANNEL, wire.part(2, bytes(80), last=True))
    with pytest.raises(MalformedMessage):
        buffer.take(CHANNEL, wire.part(3, bytes(80), last=True))


def test_a_part_that_is_cut_off_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        ReorderBuffer().take(SOCKET, b"\x03\x01")


def test_another_channel_begins_anew() -> None:
    buffer = ReorderBuffer()
    assert done(buffer, [(CHANNEL, frame(1, 2)[0])]) == [frame(1, 2)[0]]
    buffer.forget(CHANNEL)
    assert done(buffer, [(CHANNEL, message) for message in frame(1)]) == [frame(1)[1]]
