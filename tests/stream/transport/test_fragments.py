"""Long messages are fragmented and reassembled."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.transport.fragments import FRAGMENT_BYTES, MAX_BYTES, Reassembler, fragments
from sandbox_server.stream.wire import MalformedMessage


@settings(deadline=None, database=None)
@given(st.lists(st.integers(1, 3 * FRAGMENT_BYTES + 2), min_size=1, max_size=4))
def test_messages_come_out_as_they_went_in(sizes: list[int]) -> None:
    messages = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    reassembler = Reassembler()
    sent = [piece for message in messages for piece in fragments(message)]
    assert max(map(len, sent)) <= FRAGMENT_BYTES + 1
    assert [whole for piece in sent if (whole := reassembler.take(piece)) is not None] == messages


@pytest.mark.parametrize("piece", [b"", b"\x02x"])
def test_what_is_no_piece_is_refused(piece: bytes) -> None:
    with pytest.raises(MalformedMessage):
        Reassembler().take(piece)


def test_a_message_without_an_end_is_refused() -> None:
    reassembler, piece = Reassembler(), b"\x01" + bytes(4 << 20)
    for _ in range(MAX_BYTES >> 22):
        reassembler.take(piece)
    with pytest.raises(MalformedMessage):
        reassembler.take(piece)
