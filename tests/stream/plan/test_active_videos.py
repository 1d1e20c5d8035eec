"""The videos that a viewer is shown: by their numbers, and what lies over each is told once."""

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
    playing = ActiveVideos()
    playing.begin(1, AREA, picture(0), 0.0)
    assert playing.changed_overlays() == ()
    for number in range(1, 10):
        playing.has_changed(1, picture(number, menu=True))
    assert playing.changed_overlays() == ((1, (*playing.overlays(1),)),)
    assert playing.overlays(1) == [(*MENU, 96, 64)]
    assert playing.changed_overlays() == ()
    playing.has_changed(1, picture(10))
    assert playing.changed_overlays() == ((1, ()),)


def test_over_a_video_that_begins_anew_lies_nothing() -> None:
    playing = ActiveVideos()
    first = playing.begin(0, AREA, picture(0), 0.0)
    for number in range(1, 10):
        playing.has_changed(0, picture(number, menu=True))
    playing.changed_overlays()
    second = playing.begin(0, AREA, picture(10), 1.0)
    assert (playing.is_current(first), playing.is_current(second)) == (False, True)
    assert playing.changed_overlays() == ((0, ()),)


def test_a_video_that_the_link_has_no_room_for_becomes_smaller_and_then_has_fewer_pictures() -> None:
    playing, now, pictures = ActiveVideos(), 0.0, 0
    _, writer = playing.begin(1, AREA, picture(0), now)
    scales = [writer.scale]
    for number in range(1, 80):
        writer.quantiser = 45.0
        now += 1 / 30
        assert not playing.waits(1)
        if playing.is_due(1, now):
            _, writer = playing.next(1, picture(number % 3), now)
            pictures += 1
        else:
            assert playing.due_at is not None
            assert now < playing.due_at <= now + 1 / 7
            assert playing.waits(1)
            assert playing.is_due(1, playing.due_at)
        scales.append(writer.scale)
    assert sorted(scales) == scales
    assert scales[-1] == 2
    assert pictures < 60
    _, again = playing.begin(1, AREA, picture(80), now)
    assert again.scale == 2


def test_videos_end_by_their_numbers() -> None:
    playing = ActiveVideos()
    pictures = [playing.begin(number, AREA, picture(number), 0.0) for number in range(3)]
    playing.end(1)
    assert playing.end_others({0, 1}) == (2,)
    assert [playing.is_current(one) for one in pictures] == [True, False, False]
    playing.clear()
    assert not playing.is_current(pictures[0])
