"""Raw pixels become pictures, with the cursor drawn where it is."""

import io

import pytest
from PIL import Image

from sandbox_server.drivers.x11 import screenshot


def test_pixels_are_blue_green_red() -> None:
    made = screenshot.of_pixels(bytes([1, 2, 3, 0, 4, 5, 6, 0]), (2, 1))
    assert made.tobytes() == bytes([3, 2, 1, 6, 5, 4])


def test_a_cursor_is_drawn_with_its_alpha_and_cut_at_the_edge() -> None:
    cursor = screenshot.cursor_of([0xFFFF0000, 0x00000000, 0x80800000, 0xFF00FF00], (2, 2), (-1, 0))
    made = Image.new("RGB", (2, 2), (0, 0, 0))
    screenshot.draw(cursor, made, (0, 0))
    assert [made.getpixel(at) for at in ((0, 0), (0, 1), (1, 0))] == [(0, 0, 0), (0, 255, 0), (0, 0, 0)]


def test_quality_decides_the_size_of_a_jpeg_and_not_of_a_png() -> None:
    noise = Image.effect_noise((100, 100), 80).convert("RGB")
    assert len(screenshot.encode(noise, "jpeg", 5)) < len(screenshot.encode(noise, "jpeg", 95))
    assert screenshot.encode(noise, "png", 5) == screenshot.encode(noise, "png", 95)


@pytest.mark.parametrize(("factor", "size"), [(1.0, (100, 50)), (0.5, (50, 25)), (0.001, (1, 1))])
def test_a_picture_is_scaled_to_a_pixel_at_least(factor: float, size: tuple[int, int]) -> None:
    assert screenshot.scaled(Image.new("RGB", (100, 50)), factor).size == size


def test_a_png_is_the_picture() -> None:
    noise = Image.effect_noise((40, 30), 80).convert("RGB")
    assert Image.open(io.BytesIO(screenshot.encode(noise, "png", None))).tobytes() == noise.tobytes()
