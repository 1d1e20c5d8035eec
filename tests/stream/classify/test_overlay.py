"""Overlay detection: what stands still over a video is found to the pixel, and gone when it closes."""

from PIL import Image, ImageDraw

from sandbox_server.stream.classify.overlay import MAX_OVERLAYS, OverlayDetector
from sandbox_server.stream.geometry import bounding_box
from tests.stream.screens import framed, page, photograph

SIZE = (400, 300)
VIDEO = (64, 32, 256, 192)


def looked(
    detector: OverlayDetector, pictures: int, *, menu: tuple[Image.Image, tuple[int, int]] | None = None, first: int = 0
) -> list[bool]:
    """Look at so many pictures of a video, with a menu over it; whether the video moved in each."""
    moved = []
    for number in range(first, first + pictures):
        image = Image.new("RGB", SIZE)
        image.paste(photograph(VIDEO[2:], number), VIDEO[:2])
        if menu:
            image.paste(*menu)
        moved.append(detector.update(framed(image), 1 << 20))
    return moved


def test_a_menu_over_a_video_is_found_to_the_pixel_and_is_gone_when_it_closes() -> None:
    detector, menu = OverlayDetector(VIDEO), page((123, 77))
    assert all(looked(detector, 6))
    assert detector.overlays == []
    assert all(looked(detector, 8, menu=(menu, (101, 83)), first=6))
    left, top, width, height = bounding_box(detector.overlays)
    assert (left, top, width, height) == (101, 83, 123, 77)
    assert sum(area[2] * area[3] for area in detector.overlays) >= width * height
    assert all(looked(detector, 1, first=14))
    assert detector.overlays == []


def test_a_line_of_a_menu_that_changes_leaves_it_over_the_video() -> None:
    detector, menu = OverlayDetector(VIDEO), page((160, 96))
    looked(detector, 20, menu=(menu, (96, 64)))
    before = detector.overlays
    assert bounding_box(before) == (96, 64, 160, 96)
    ImageDraw.Draw(menu).rectangle((0, 32, 159, 47), fill="navy")
    looked(detector, 1, menu=(menu, (96, 64)), first=20)
    assert detector.overlays == before


def test_where_only_what_lies_over_a_video_changes_the_video_shows_no_other_picture() -> None:
    detector, image = OverlayDetector(VIDEO), Image.new("RGB", SIZE)
    looked(detector, 20, menu=(page((160, 96)), (96, 64)))
    image.paste(photograph(VIDEO[2:], 19), VIDEO[:2])
    image.paste(page((160, 96)), (96, 64))
    assert not detector.update(framed(image), 0)
    ImageDraw.Draw(image).rectangle((100, 70, 140, 80), fill="navy")
    assert not detector.update(framed(image), 0)
    assert detector.overlays


def test_a_part_of_a_video_that_stands_still_now_and_then_is_soon_taken_for_the_video() -> None:
    detector, opened = OverlayDetector(VIDEO), 0
    flat = Image.new("RGB", (64, 64), "black")
    for number in range(0, 240, 6):
        looked(detector, 5, menu=(flat, (128, 96)), first=number)
        opened += bool(detector.overlays)
        looked(detector, 1, first=number + 5)
    assert 0 < opened < 6


def test_no_more_lies_over_a_video_at_once_than_may_be_sent() -> None:
    detector, image = OverlayDetector(VIDEO), page(SIZE)
    for number in range(12):
        image.putpixel((VIDEO[0], VIDEO[1]), (number, 0, 0))
        before = sum(width * height for _, _, width, height in detector.overlays)
        detector.update(framed(image), 4096)
        assert sum(width * height for _, _, width, height in detector.overlays) <= before + 4096 + MAX_OVERLAYS * 8 * 8 * 4
