"""Redundant audio: none while nothing is lost, one packet or two where some is, and none from before a silence."""

from sandbox_server.stream import wire
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.transport.audio_redundancy import HEAVY_LOSS, HOLD_SECONDS, AudioRedundancy


def sent(redundancy: AudioRedundancy, number: int, now: float = 0.0) -> list[int]:
    """The numbers of the packets that a packet is sent with; each packet is its number."""
    picture = ReferenceDecoder()
    picture.take(redundancy.message(wire.sound(number, str(number).encode()), now))
    assert all(packet == str(each).encode() for each, packet in picture.sounds)
    return [each for each, _ in picture.sounds]


def test_nothing_is_sent_again_while_nothing_is_lost() -> None:
    redundancy = AudioRedundancy()
    redundancy.missed(0, 0.0)
    assert [sent(redundancy, number) for number in (1, 2, 3)] == [[1], [2], [3]]


def test_more_is_sent_again_where_more_is_lost_until_nothing_was_for_long() -> None:
    redundancy = AudioRedundancy()
    assert [sent(redundancy, number) for number in (1, 2)] == [[1], [2]]
    redundancy.missed(1, 0.0)
    assert sent(redundancy, 3) == [2, 3]
    redundancy.missed(HEAVY_LOSS, 1.0)
    assert sent(redundancy, 4, 1.0) == [2, 3, 4]
    redundancy.missed(1, 2.0)
    assert sent(redundancy, 5, 2.0 + HOLD_SECONDS - 0.1) == [3, 4, 5]
    assert sent(redundancy, 6, 2.0 + HOLD_SECONDS) == [6]
    redundancy.missed(1, 20.0)
    assert sent(redundancy, 7, 20.0) == [6, 7]


def test_what_was_before_a_silence_is_not_sent_again() -> None:
    redundancy = AudioRedundancy()
    redundancy.missed(255, 0.0)
    assert [sent(redundancy, number) for number in (1, 2, 40, 41, 42)] == [[1], [1, 2], [40], [40, 41], [40, 41, 42]]


def test_each_message_has_the_next_number_of_sixteen_bits() -> None:
    redundancy = AudioRedundancy()
    sequences = [int.from_bytes(redundancy.message(wire.sound(number, b""), 0.0)[1:3], "little") for number in range(65_540)]
    assert sequences == [number & 0xFFFF for number in range(1, 65_541)]
