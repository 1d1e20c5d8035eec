"""The bitrate of video: random loss lowers nothing, a queue lowers it, and a full link is neither overrun nor left unused."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.congestion.bitrate import MOST_BITS, BitrateController
from sandbox_server.stream.congestion.window import QUEUE_SECONDS, CongestionWindow
from tests.stream.congestion.links import Link


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(st.booleans(), min_size=50, max_size=300), st.floats(0.05, 0.5))
def test_packets_that_are_lost_now_and_then_are_no_queue(lost: list[bool], later: float) -> None:
    window, controller, trip = CongestionWindow(), BitrateController(), 0.02
    for number, late in enumerate(lost, 1):
        sent = number / 30
        window.sent(number, 9_000, sent, sent)
        window.acked(number, sent + trip + (later if late and number % 4 else 0.0))
        controller.learn(window, sent + trip)
    assert controller.bits == MOST_BITS


def test_frames_that_wait_longer_and_longer_are_a_queue() -> None:
    window, controller = CongestionWindow(), BitrateController()
    for number in range(1, 60):
        sent = number / 30
        window.sent(number, 9_000, sent, sent)
        window.acked(number, sent + 0.02 + number * QUEUE_SECONDS / 4)
        controller.learn(window, sent)
    assert controller.bits < MOST_BITS / 2


def test_videos_take_no_more_than_a_full_link_does_and_find_out_when_it_takes_more() -> None:
    link, controller = Link(125_000, 0.02), BitrateController()
    link.run(5, 12_000)
    controller.learn(link.window, link.now)
    assert controller.bits < 1_250_000
    known = link.window.rate or 0.0
    for seconds in range(1, 30):  # nothing queues
        link.window.sent(10_000 + seconds, 2_000, link.now + seconds, link.now + seconds)
        link.window.acked(10_000 + seconds, link.now + seconds + 0.02)
        for _ in range(30):
            controller.learn(link.window, link.now + seconds)
    assert 1.1 * known * 8 < controller.bits < 2 * known * 8
