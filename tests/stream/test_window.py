"""How much may be on its way: as much as the link takes, soon, and no queue."""

import heapq

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.window import FIRST_BYTES, LEAST_BYTES, LEAST_ROOM, MOST_BITS, MOST_FRAMES, QUEUE_SECONDS, Best, FilmRate, Window


class Link:
    """A link of `rate` bytes a second and a delay there and back, on which frames wait for each other."""

    def __init__(self, rate: float, delay: float) -> None:
        self.window = Window()
        self.rate = rate
        self.delay = delay
        self.now = 0.0
        self.waits: list[float] = []
        self._free = 0.0
        self._acks: list[tuple[float, int]] = []
        self._frame = 0

    def run(self, seconds: float, size: int) -> int:
        """Send frames of `size` bytes whenever the window is open; the bytes that arrived."""
        arrived, end = 0, self.now + seconds
        while self.now < end:
            while self.window.is_open:
                self._send(size)
            self.now, frame = heapq.heappop(self._acks)
            assert self.window.acked(frame, self.now)
            arrived += size
        return arrived

    def _send(self, size: int) -> None:
        self._frame += 1
        self.window.sent(self._frame, size, self.now, self.now)
        self._free = max(self._free, self.now) + size / self.rate
        self.waits.append(self._free - self.now)
        heapq.heappush(self._acks, (self._free + self.delay, self._frame))


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
    window = Window()
    assert window.is_open
    window.sent(1, FIRST_BYTES, 0.0, 0.0)
    assert not window.is_open


def test_one_frame_may_always_go_however_large() -> None:
    window = Window()
    window.sent(1, 10_000_000, 0.0, 0.0)
    assert not window.is_open
    window.acked(1, 1.0)
    assert window.is_open


def test_acks_of_frames_that_were_not_sent_count_for_nothing() -> None:
    window = Window()
    assert not window.acked(3, 0.0)
    window.sent(5, 100, 0.0, 0.0)
    assert not window.acked(4, 0.1)
    assert not window.acked(6, 0.1)
    assert window.rate is None


def test_a_viewer_that_acknowledges_nothing_is_sent_a_bounded_number_of_frames() -> None:
    window = Window()
    for frame in range(MOST_FRAMES):
        assert window.is_open
        window.sent(frame, 1, 0.0, 0.0)
    assert not window.is_open


def test_the_best_of_the_last_seconds_is_kept() -> None:
    best = Best(largest=False)
    for now, value in [(0.0, 5.0), (1.0, 3.0), (2.0, 4.0)]:
        best.add(value, now)
    assert best.value == 3.0
    best.add(9.0, 11.5)
    assert best.value == 4.0


def test_what_a_viewer_takes_to_show_a_frame_keeps_no_frame_from_it() -> None:
    window, shows = Window(), 0.1
    for frame in range(1, 200):  # each is acknowledged a tenth of a second after it was sent, 30 are sent a second
        window.sent(frame, 9_000, frame / 30, frame / 30)
        if frame > 3:
            window.acked(frame - 3, frame / 30, shown_after=shows)
    assert window.is_open
    assert window.limit > 9_000 * 3


def test_before_a_link_was_full_nothing_is_spaced_or_cut() -> None:
    window = Window()
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


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(st.booleans(), min_size=50, max_size=300), st.floats(0.05, 0.5))
def test_packets_that_are_lost_now_and_then_are_no_queue(lost: list[bool], later: float) -> None:
    window, film, trip = Window(), FilmRate(), 0.02
    for number, late in enumerate(lost, 1):
        sent = number / 30
        window.sent(number, 9_000, sent, sent)
        window.acked(number, sent + trip + (later if late and number % 4 else 0.0))
        film.learn(window, sent + trip)
    assert film.bits == MOST_BITS


def test_frames_that_wait_longer_and_longer_are_a_queue() -> None:
    window, film = Window(), FilmRate()
    for number in range(1, 60):
        sent = number / 30
        window.sent(number, 9_000, sent, sent)
        window.acked(number, sent + 0.02 + number * QUEUE_SECONDS / 4)
        film.learn(window, sent)
    assert film.bits < MOST_BITS / 2


def test_films_take_no_more_than_a_full_link_does_and_find_out_when_it_takes_more() -> None:
    link, film = Link(125_000, 0.02), FilmRate()
    link.run(5, 12_000)
    film.learn(link.window, link.now)
    assert film.bits < 1_250_000
    known = link.window.rate or 0.0
    for seconds in range(1, 30):  # nothing queues
        link.window.sent(10_000 + seconds, 2_000, link.now + seconds, link.now + seconds)
        link.window.acked(10_000 + seconds, link.now + seconds + 0.02)
        for _ in range(30):
            film.learn(link.window, link.now + seconds)
    assert 1.1 * known * 8 < film.bits < 2 * known * 8


def test_what_a_large_frame_takes_to_arrive_is_no_queue() -> None:
    window = Window()
    for number in range(1, 20):
        window.sent(number, 9_000, float(number), float(number))
        window.acked(number, number + (0.32 if number > 10 else 0.02), received_in=0.3 if number > 10 else 0.0)
    assert window.queue == pytest.approx(0.0)


def test_frames_that_waited_for_a_lost_packet_came_no_faster_than_they_were_sent() -> None:
    window, rate, size = Window(), 600_000, 60_000
    took = size / rate
    for number in range(1, 40):
        began = number * took
        window.sent(number, size, began, began + took)
        if number > 4 and number % 4 == 0:  # the packet comes that all of them waited for
            for one in range(number - 3, number + 1):
                window.acked(one, began + took + 0.01 + one % 4 / 1000)
    assert rate * 0.7 < (window.rate or 0.0) < rate * 1.1


def test_the_time_in_which_nothing_more_could_be_sent_is_counted() -> None:
    window = Window()
    window.sent(1, 1000, 1.0, 1.5)
    assert window.closed(2.0) == 0.5
    window.sent(2, FIRST_BYTES, 2.0, 2.5)
    assert window.closed(4.0) == 2.5
    window.acked(2, 4.0)
    assert window.closed(9.0) == 2.5
