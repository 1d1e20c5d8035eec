"""How much may be on its way: as much as the link takes, soon, and no queue."""

import heapq

import pytest

from sandbox_server.stream.window import FIRST_BYTES, LEAST_BYTES, MOST_FRAMES, Best, Window


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
        self.window.sent(self._frame, size, self.now)
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
        window.sent(frame, 200, now)
        window.acked(frame, now + 0.02)
        now += 0.1
    assert window.rate == known


def test_before_the_first_ack_little_is_on_its_way() -> None:
    window = Window()
    assert window.is_open
    window.sent(1, FIRST_BYTES, 0.0)
    assert not window.is_open


def test_one_frame_may_always_go_however_large() -> None:
    window = Window()
    window.sent(1, 10_000_000, 0.0)
    assert not window.is_open
    window.acked(1, 1.0)
    assert window.is_open


def test_acks_of_frames_that_were_not_sent_count_for_nothing() -> None:
    window = Window()
    assert not window.acked(3, 0.0)
    window.sent(5, 100, 0.0)
    assert not window.acked(4, 0.1)
    assert not window.acked(6, 0.1)
    assert window.rate is None


def test_a_viewer_that_acknowledges_nothing_is_sent_a_bounded_number_of_frames() -> None:
    window = Window()
    for frame in range(MOST_FRAMES):
        assert window.is_open
        window.sent(frame, 1, 0.0)
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
        window.sent(frame, 9_000, frame / 30)
        if frame > 3:
            window.acked(frame - 3, frame / 30, shown_after=shows)
    assert window.is_open
    assert window.limit > 9_000 * 3
