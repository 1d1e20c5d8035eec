"""Frames are held until they are acknowledged."""

from sandbox_server.stream import wire
from sandbox_server.stream.transport.unacknowledged import UnacknowledgedFrames


def test_what_is_acknowledged_is_forgotten_and_the_rest_is_given_in_order() -> None:
    frames = UnacknowledgedFrames()
    for number in (7, 8, 9):
        frames.begin()
        frames.add(wire.size(number, 1))
        frames.add(wire.part(number, b"", last=True))
    frames.acked(6)
    frames.acked(7)
    assert frames.take() == [m for number in (8, 9) for m in (wire.size(number, 1), wire.part(number, b"", last=True))]
    assert not frames
    assert frames.take() == []


def test_a_frame_that_is_still_being_sent_cannot_be_acknowledged() -> None:
    frames = UnacknowledgedFrames()
    frames.begin()
    sent = [wire.size(4, 4), wire.part(1, b"", last=False), wire.part(1, b"", last=False)]
    for message in sent:
        frames.add(message)
        frames.acked(99)
    assert frames.take() == sent
