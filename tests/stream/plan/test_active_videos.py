"""Active videos: by their numbers, and a changed overlay is reported once."""

from PIL import Image

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.plan.active_videos import ActiveVideos
from tests.stream.screens import framed, page, photograph

SIZE = (320, 240)
AREA = (32, 32, 256, 192)
MENU = (96, 64)


def picture(number: int, *, menu: bool = False) -> CapturedFrame:
    image = Image.new("RGB", SIZE)
    image.paste(photograph(AREA[2:], number), AREA[:2])
    if menu:
        image.paste(page((96, 64)), MENU)
    return framed(image)


def test_what_lies_over_a_video_is_told_once_and_when_it_is_gone() -> None:
    videos = ActiveVideos()
    videos.begin(1, AREA, picture(0), 0.0)
    assert videos.changed_overlays() == ()
    for number in range(1, 10):
        videos.has_changed(1, picture(number, menu=True))
    assert videos.changed_overlays() == ((1, (*videos.overlays(1),)),)
    assert videos.overlays(1) == [(*MENU, 96, 64)]
    assert videos.changed_overlays() == ()
    videos.has_changed(1, picture(10))
    assert videos.changed_overlays() == ((1, ()),)


def test_over_a_video_that_begins_anew_lies_nothing() -> None:
    videos = ActiveVideos()
    first = videos.begin(0, AREA, picture(0), 0.0)
    for number in range(1, 10):
        videos.has_changed(0, picture(number, menu=True))
    videos.changed_overlays()
    second = videos.begin(0, AREA, picture(10), 1.0)
    assert (videos.is_current(first), videos.is_current(second)) == (False, True)
    assert videos.changed_overlays() == ((0, ()),)


def test_a_video_that_the_link_has_no_room_for_becomes_smaller_and_then_has_fewer_pictures() -> None:
    videos, now, pictures = ActiveVideos(), 0.0, 0
    _, writer = videos.begin(1, AREA, picture(0), now)
    scales = [writer.scale]
    for number in range(1, 80):
        writer.quantiser = 45.0
        now += 1 / 30
        assert not videos.waits(1)
        if videos.is_due(1, now):
            _, writer = videos.next(1, picture(number % 3), now)
            pictures += 1
        else:
            assert videos.due_at is not None
            assert now < videos.due_at <= now + 1 / 7
            assert videos.waits(1)
            assert videos.is_due(1, videos.due_at)
        scales.append(writer.scale)
    assert sorted(scales) == scales
    assert scales[-1] == 2
    assert pictures < 60
    _, again = videos.begin(1, AREA, picture(80), now)
    assert again.scale == 2


def test_videos_end_by_their_numbers() -> None:
    videos = ActiveVideos()
    pictures = [videos.begin(number, AREA, picture(number), 0.0) for number in range(3)]
    videos.end(1)
    assert videos.end_others({0, 1}) == (2,)
    assert [videos.is_current(one) for one in pictures] == [True, False, False]
    videos.clear()
    assert not videos.is_current(pictures[0])
