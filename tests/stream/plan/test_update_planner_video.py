"""What keeps moving is planned as video, which ends exactly; what scrolls is not."""

import pytest
from PIL import Image

from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.plan.update_plan import UpdatePlan
from sandbox_server.stream.plan.update_planner import UpdatePlanner
from tests.stream.plan.test_update_planner import apply
from tests.stream.screens import framed, page, photograph


def test_what_keeps_moving_becomes_a_video_and_is_exact_when_it_stands_still() -> None:
    size = (640, 480)
    planner, canvas, now = UpdatePlanner(videos=True), Canvas(*size), 1.0
    begun = False
    while not begun:
        image = page(size)
        image.paste(photograph((256, 192), int(now * 30)), (64, 64))
        planner.drawn([(64, 64, 256, 192)])
        plan = planner.plan(framed(image), now)
        apply(plan, canvas)
        begun = bool(plan.videos)
        now += 1 / 30
        assert now < 3
    assert [writer.area for _, writer in plan.videos] == [(64, 64, 256, 192)]
    planner.drawn([(64, 64, 256, 192)])
    assert not planner.plan(framed(image), now).videos, "it is the same picture"
    image.paste(photograph((256, 192), 99), (64, 64))
    planner.drawn([(64, 64, 256, 192)])
    moved = planner.plan(framed(image), now)
    assert moved.videos
    assert not moved.exact
    ended: tuple[int, ...] = ()
    while planner.due_at is not None:
        plan = planner.plan(framed(image), now := max(now, planner.due_at))
        ended += plan.ended
        apply(plan, canvas)
        assert not plan.pictures, "what is exact soon is not sent nearly before"
    assert ended == (0,)
    assert Image.frombytes("RGB", size, bytes(canvas.pixels), "raw", "BGRX", 0, 1).tobytes() == image.tobytes()


def test_a_video_that_paused_goes_on_and_what_was_sent_exactly_meanwhile_is_not_seen() -> None:
    size, planner, now = (640, 480), UpdatePlanner(videos=True), 1.0
    plan, image = UpdatePlan(), page(size)
    while not plan.videos:
        image.paste(photograph((256, 192), int(now * 30)), (64, 64))
        planner.drawn([(64, 64, 256, 192)])
        plan = planner.plan(framed(image), now := now + 1 / 30)
        assert now < 3
    planner.plan(framed(image), now)
    paused = planner.plan(framed(image), now + 0.3, 24_000)
    assert paused.exact
    assert not paused.ended
    image.paste(photograph((256, 192), 99), (64, 64))
    planner.drawn([(64, 64, 256, 192)])
    plan = planner.plan(framed(image), now + 0.35, 24_000)
    assert plan.videos
    assert not plan.exact


@pytest.mark.parametrize(("closed", "begins"), [(0.48, True), (0.0, False)], ids=["slow link", "slow picture"])
def test_what_moves_with_each_frame_that_a_slow_link_takes_becomes_a_video_and_stays_one(closed: float, begins: bool) -> None:
    planner, image, begun = UpdatePlanner(videos=True), page((640, 480)), False
    for number in range(40):
        image.paste(photograph((256, 192), number), (64, 64))
        planner.drawn([(64, 64, 256, 192)])
        plan = planner.plan(framed(image), 1.0 + number / 2, closed=number * closed)
        begun |= bool(plan.videos)
        assert not plan.ended
        assert bool(plan.videos) == begun
    assert begun == begins


def test_videos_that_become_one_show_no_more_pictures_of_their_own() -> None:
    size, planner, ended = (640, 480), UpdatePlanner(videos=True), False
    image = page(size)
    for number in range(60):
        image.paste(photograph((160 if number < 20 else 352, 192), number), (64, 64))
        image.paste(photograph((128, 192), 60 + number), (288, 64))
        planner.drawn([(64, 64, 352, 192)])
        plan = planner.plan(framed(image), 1.0 + number / 30)
        assert not set(plan.ended) & {video for video, _ in plan.videos}
        ended |= bool(plan.ended)
    assert ended


def test_who_can_show_its_video_no_more_is_sent_what_is_there() -> None:
    size, where, now = (640, 480), (64, 64, 256, 192), 1.0
    planner, canvas = UpdatePlanner(videos=True), Canvas(*size)
    plan, image = UpdatePlan(), page(size)
    while not plan.videos:
        image.paste(photograph((256, 192), int(now * 30)), (64, 64))
        planner.drawn([where])
        plan = planner.plan(framed(image), now := now + 1 / 30)
        apply(plan, canvas)
        assert now < 3
    planner.max_videos = 0
    image.paste(page((256, 192), seed=3), (64, 64))
    planner.drawn([where])
    plan = planner.plan(framed(image), now + 1 / 30)
    apply(plan, canvas)
    assert plan.ended == (0,)
    assert not plan.videos
    assert Image.frombytes("RGB", size, bytes(canvas.pixels), "raw", "BGRX", 0, 1).tobytes() == image.tobytes()


def test_who_shows_no_videos_is_sent_none() -> None:
    planner = UpdatePlanner(videos=False)
    for number in range(40):
        planner.drawn([(64, 64, 256, 192)])
        assert not planner.plan(framed(photograph((640, 480), number)), number / 30).videos


def test_a_page_that_scrolls_over_a_slow_link_is_no_video_and_exact() -> None:
    size = (640, 480)
    planner, canvas = UpdatePlanner(videos=True), Canvas(*size)
    for number in range(30):
        image = page(size, scrolled=number * 200 % 800)
        planner.drawn([(0, 0, *size)])
        plan = planner.plan(framed(image), 1.0 + number / 4, 24_000, closed=number * 0.24)
        assert not plan.videos
        apply(plan, canvas)
    while planner.is_behind:
        apply(planner.plan(framed(image), 9.0, 24_000), canvas)
    assert Image.frombytes("RGB", size, bytes(canvas.pixels), "raw", "BGRX", 0, 1).tobytes() == image.tobytes()
