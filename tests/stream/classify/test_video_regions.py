"""Video region detection: what really moves is told from what types, blinks or scrolls, and a region ends when it stands still."""

import pytest

from sandbox_server.stream.classify.shadow_buffer import FrameChanges
from sandbox_server.stream.classify.video_regions import MAX_VIDEOS, REST_SECONDS, STILL_SECONDS, VideoRegion, VideoRegionDetector
from sandbox_server.stream.geometry import Area
from sandbox_server.stream.native.library import MovedRect
from sandbox_server.stream.native.rect_array import rect_array

SIZE = (1280, 1024)
VIDEO = (64, 96, 640, 352)


def photographs(areas: list[Area]) -> FrameChanges:
    return FrameChanges(rect_array([]), rect_array(areas))


def texts(areas: list[Area]) -> FrameChanges:
    return FrameChanges(rect_array(areas), rect_array([]))


def run(detector: VideoRegionDetector, areas: list[Area], *, rate: float, seconds: float, start: float = 1.0) -> float:
    """Let areas change at a rate, and videos begin as they do; when it ended."""
    now = start
    while now < start + seconds:
        for region in detector.touched(areas):
            region.note_change(now)
        detector.note_changes(photographs(areas), now)
        detector.begin(now)
        now += 1 / rate
    return now


def test_what_changes_30_times_a_second_becomes_a_video_and_what_types_does_not() -> None:
    detector = VideoRegionDetector(*SIZE)
    run(detector, [VIDEO], rate=30, seconds=0.5)
    assert [region.area for region in detector.regions] == [VIDEO]
    typed = VideoRegionDetector(*SIZE)
    run(typed, [(200, 200, 160, 120)], rate=4, seconds=5)
    assert typed.regions == []


def test_text_becomes_a_video_only_where_it_changes_more_often_than_anybody_reads() -> None:
    for rate, is_video in ((8, False), (30, True)):
        detector = VideoRegionDetector(*SIZE)
        for step in range(rate * 3):
            detector.note_changes(texts([VIDEO]), 1.0 + step / rate, step * 0.9 / rate)  # most of the time nothing can be sent
        assert bool(detector.begin(4.0)) == is_video


def test_where_it_scrolled_of_late_text_is_no_video_however_much_it_changes() -> None:
    detector, up = VideoRegionDetector(*SIZE), bytes(MovedRect(64, 136, 64, 96, 640, 312))
    detector.note_scroll(up, 1.0)
    for step in range(80):
        detector.note_changes(texts([VIDEO]), 1.0 + step / 30)
    assert detector.begin(3.7) == []
    for step in range(60):
        detector.note_changes(texts([VIDEO]), 4.0 + step / 30)
    assert [region.area for region in detector.begin(6.0)] == [VIDEO]


def test_what_comes_into_sight_of_a_photograph_that_scrolls_is_no_video_and_what_then_plays_is_one() -> None:
    detector, up, below = VideoRegionDetector(*SIZE), bytes(MovedRect(64, 192, 64, 96, 640, 256)), (64, 352, 640, 96)
    for step in range(40):
        detector.note_scroll(up, 1.0 + step / 20)
        detector.note_changes(photographs([below]), 1.0 + step / 20)
    assert detector.begin(3.0) == []
    run(detector, [VIDEO], rate=30, seconds=1.1, start=3.0)
    assert [region.area for region in detector.regions] == [VIDEO]


def test_who_shows_one_video_is_shown_the_largest() -> None:
    detector, small = VideoRegionDetector(*SIZE), (800, 96, 192, 128)
    for step in range(30):
        detector.note_changes(photographs([small, VIDEO]), 1.0 + step / 60)
    assert [region.area for region in detector.begin(1.5, 1)] == [VIDEO]
    assert detector.begin(1.5, 1) == []
    assert [region.area for region in detector.begin(1.5, 2)] == [small]


def test_what_is_small_or_apart_is_no_video() -> None:
    detector = VideoRegionDetector(*SIZE)
    corners = [(number * 160, number * 96, 32, 32) for number in range(8)]
    run(detector, [*corners, (0, 900, 1280, 32)], rate=60, seconds=1)
    assert detector.regions == []


def test_the_tiles_of_a_video_are_left_out_until_it_ends() -> None:
    detector = VideoRegionDetector(*SIZE)
    now = run(detector, [VIDEO], rate=30, seconds=0.5)
    assert sum(detector.skip) == 640 // 32 * 352 // 32
    due = detector.due_at()
    assert due is not None
    assert detector.due_at(0.5) == due + 0.5
    assert detector.resting(due - 0.01) == detector.resting(due + 0.4, 0.5) == []
    [rests] = detector.resting(due)
    assert detector.end(now + STILL_SECONDS) == []
    rests.left.clear()
    assert detector.due_at() == detector.due_at(0.5) == rests.ends_at
    assert detector.end(rests.ends_at - 0.01) == []
    assert detector.end(now + STILL_SECONDS) == [rests]
    assert rests.area == VIDEO
    assert sum(detector.skip) == 0
    assert detector.due_at() is None


def test_a_video_with_few_pictures_a_second_rests_later_and_one_that_goes_on_is_to_be_sent_exactly_anew() -> None:
    often, seldom = VideoRegion(0, VIDEO), VideoRegion(1, VIDEO)
    for step in range(10):
        often.note_change(step / 30)
        seldom.note_change(step / 12)
    assert often.rests_at - often.changed[-1] == pytest.approx(REST_SECONDS)
    assert REST_SECONDS < seldom.rests_at - seldom.changed[-1] <= STILL_SECONDS
    often.left.clear()
    often.note_change(1.0)
    assert often.left == [VIDEO]


def test_what_lies_within_a_video_as_a_whole_is_told_from_what_does_not() -> None:
    detector = VideoRegionDetector(*SIZE)
    run(detector, [VIDEO], rate=30, seconds=0.5)
    inside, across, apart = (100, 100, 20, 20), (50, 100, 20, 20), (800, 800, 20, 20)
    assert detector.outside([inside, across, apart]) == [across, apart]
    assert [region.area for region in detector.touched([across])] == [VIDEO]
    assert detector.touched([apart]) == []


def test_a_video_that_grows_begins_anew_as_one() -> None:
    detector = VideoRegionDetector(*SIZE)
    now = run(detector, [(64, 96, 320, 352)], rate=30, seconds=0.5)
    run(detector, [(64, 96, 320, 352), (384, 96, 64, 352)], rate=30, seconds=0.5, start=now)
    assert [region.area for region in detector.regions] == [(64, 96, 384, 352)]


def test_there_are_a_bounded_number_of_videos() -> None:
    detector = VideoRegionDetector(*SIZE)
    run(detector, [(number * 320, 0, 160, 96) for number in range(MAX_VIDEOS + 1)], rate=60, seconds=1)
    assert sorted(region.number for region in detector.regions) == list(range(MAX_VIDEOS))


def test_a_video_that_no_even_rect_holds_is_none() -> None:
    detector = VideoRegionDetector(333, 201)
    run(detector, [(0, 0, 333, 201)], rate=60, seconds=1)
    assert detector.regions == []
