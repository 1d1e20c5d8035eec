"""The congestion window: as much in flight as the link takes, soon, and no queue."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.congestion.window import FIRST_BYTES, LEAST_BYTES, LEAST_ROOM, MOST_FRAMES, CongestionWindow
from tests.stream.congestion.links import Link


@pytest.mark.parametrize(("rate", "delay"), [(600_000, 0.02), (600_000, 0.2), (12_000_000, 0.06), (100_000, 0.05)])
def test_a_link_is_filled_without_a_long_queue(rate: float, delay: float) -> None:
    link = Link(rate, delay)
    link.run(5, 12_000)
    link.waits.clear()
    assert link.run(10, 12_000) > 0.85 * rate * 10
    assert max(link.waits) < delay + (LEAST_BYTES + 2 * 12_000) / rate + 0.1


def test_what_is_known_is_not_forgotten_while_little_is_sent() -> None:
    link = Link(1_000_000, 0.02)
    link.run(3, 20_000)
    known = link.window.rate
    assert known
    now = link.now + 1
    link.window = window = link.window
    for frame in range(1000, 1020):
        while not window.is_open:
            window.acked(999, now)
        window.sent(frame, 200, now, now)
        window.acked(frame, now + 0.02)
        now += 0.1
    assert window.rate == known


def test_before_the_first_ack_little_is_on_its_way() -> None:
    window = CongestionWindow()
    assert window.is_open
    window.sent(1, FIRST_BYTES, 0.0, 0.0)
    assert not window.is_open


def test_one_frame_may_always_go_however_large() -> None:
    window = CongestionWindow()
    window.sent(1, 10_000_000, 0.0, 0.0)
    assert not window.is_open
    window.acked(1, 1.0)
    assert window.is_open


def test_acks_of_frames_that_were_not_sent_count_for_nothing() -> None:
    window = CongestionWindow()
    assert not window.acked(3, 0.0)
    window.sent(5, 100, 0.0, 0.0)
    assert not window.acked(4, 0.1)
    assert not window.acked(6, 0.1)
    assert window.rate is None


def test_a_viewer_that_acknowledges_nothing_is_sent_a_bounded_number_of_frames() -> None:
    window = CongestionWindow()
    for frame in range(MOST_FRAMES):
        assert window.is_open
        window.sent(frame, 1, 0.0, 0.0)
    assert not window.is_open


def test_what_a_viewer_takes_to_show_a_frame_keeps_no_frame_from_it() -> None:
    window, shows = CongestionWindow(), 0.1
    for frame in range(1, 200):  # each is acknowledged a tenth of a second after it was sent, 30 are sent a second
        window.sent(frame, 9_000, frame / 30, frame / 30)
        if frame > 3:
            window.acked(frame - 3, frame / 30, shown_after=shows)
    assert window.is_open
    assert window.limit > 9_000 * 3


def test_before_a_link_was_full_nothing_is_spaced_or_cut() -> None:
    window = CongestionWindow()
    window.sent(1, 80, 0.0, 0.0)
    window.acked(1, 0.3)
    assert window.rate
    assert window.pace is None
    assert window.room is None


@settings(deadline=None, database=None, max_examples=40)
@given(st.floats(50_000, 5_000_000), st.floats(0.002, 0.2), st.integers(2_000, 40_000))
def test_the_pace_of_a_full_link_is_a_little_more_than_it_takes(rate: float, delay: float, size: int) -> None:
    link = Link(rate, delay)
    link.run(5, size)
    if link.window.pace is not None:
        assert link.window.pace < 1.5 * rate + 64 * 1024
        assert link.window.room is not None
        assert link.window.room <= max(LEAST_ROOM, 0.15 * rate + 6_554)
    assert link.run(5, size) > 0.5 * min(rate, LEAST_BYTES / delay) * 5


def test_what_a_large_frame_takes_to_arrive_is_no_queue() -> None:
    window = CongestionWindow()
    for number in range(1, 20):
        window.sent(number, 9_000, float(number), float(number))
        window.acked(number, number + (0.32 if number > 10 else 0.02), received_in=0.3 if number > 10 else 0.0)
    assert window.queue == pytest.approx(0.0)


def test_frames_that_waited_for_a_lost_packet_came_no_faster_than_they_were_sent() -> None:
    window, rate, size = CongestionWindow(), 600_000, 60_000
    took = size / rate
    for number in range(1, 40):
        began = number * took
        window.sent(number, size, began, began + took)
        if number > 4 and number % 4 == 0:  # the packet comes that all of them waited for
            for one in range(number - 3, number + 1):
                window.acked(one, began + took + 0.01 + one % 4 / 1000)
    assert rate * 0.7 < (window.rate or 0.0) < rate * 1.1


def test_the_time_in_which_nothing_more_could_be_sent_is_counted() -> None:
    window = CongestionWindow()
    window.sent(1, 1000, 1.0, 1.5)
    assert window.closed(2.0) == 0.5
    window.sent(2, FIRST_BYTES, 2.0, 2.5)
    assert window.closed(4.0) == 2.5
    window.acked(2, 4.0)
    assert window.closed(9.0) == 2.5
