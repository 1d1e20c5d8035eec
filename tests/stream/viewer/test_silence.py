"""Silence of a viewer, by a clock that is the test's."""

from sandbox_server.stream import wire
from sandbox_server.stream.viewer.silence import Silence


class Clock:
    at = 0.0

    def __call__(self) -> float:
        return self.at


def pinging(seconds: float) -> tuple[Silence, Clock]:
    """A viewer that has pinged three times, so many seconds apart."""
    clock = Clock()
    silence = Silence(clock)
    for number in range(3):
        silence.heard(wire.Ping(number))
        clock.at += seconds
    clock.at -= seconds
    return silence, clock


def test_a_viewer_that_pings_each_second_is_silent_after_three() -> None:
    silence, clock = pinging(1)
    clock.at += 3
    assert not silence.lasts
    clock.at += 0.1
    assert silence.lasts
    silence.heard(wire.Key(1, down=False))
    assert not silence.lasts


def test_a_viewer_that_pings_less_often_or_never_is_not() -> None:
    seldom, clock = pinging(5)
    never, other = Silence(later := Clock()), later
    clock.at += 60
    other.at += 60
    assert not seldom.lasts
    assert not never.lasts
