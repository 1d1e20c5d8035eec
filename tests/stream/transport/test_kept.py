"""Frames that are kept until they are acknowledged."""

from sandbox_server.stream import wire
from sandbox_server.stream.transport.kept import Kept


def test_what_is_acknowledged_is_forgotten_and_the_rest_is_given_in_order() -> None:
    kept = Kept()
    for number in (7, 8, 9):
        kept.begin()
        kept.add(wire.size(number, 1))
        kept.add(wire.part(number, b"", last=True))
    kept.acked(6)
    kept.acked(7)
    assert kept.take() == [m for number in (8, 9) for m in (wire.size(number, 1), wire.part(number, b"", last=True))]
    assert not kept
    assert kept.take() == []


def test_a_frame_that_is_still_being_sent_cannot_be_acknowledged() -> None:
    kept = Kept()
    kept.begin()
    sent = [wire.size(4, 4), wire.part(1, b"", last=False), wire.part(1, b"", last=False)]
    for message in sent:
        kept.add(message)
        kept.acked(99)
    assert kept.take() == sent
