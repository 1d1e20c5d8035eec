"""Pixels copied out of a frame: cropped and downscaled as Pillow does it."""

import ctypes

from PIL import Image, ImageChops

from sandbox_server.stream.codecs.conversion import crop, downscale
from sandbox_server.stream.native.rect_array import rect_array
from tests.stream.screens import framed, photograph

SIZE = (400, 300)


def test_a_picture_at_half_its_size_has_the_mean_of_each_four() -> None:
    image, out = photograph((46, 31)), (ctypes.c_uint32 * (20 * 14))()
    half = downscale(framed(image), (3, 2, 41, 28), out)
    found = Image.frombytes("RGB", (half.width, half.height), bytes(out), "raw", "BGRX", 0, 1)
    wanted = image.crop((3, 2, 43, 30)).resize((20, 14), Image.Resampling.BOX)
    assert max(ImageChops.difference(found, wanted).tobytes()) <= 1


def test_a_crop_has_the_pixels_of_its_rect() -> None:
    image = photograph(SIZE)
    [rect] = rect_array([(13, 17, 41, 23)])
    found = Image.frombytes("RGB", (41, 23), bytes(crop(framed(image), rect)), "raw", "BGRX", 0, 1)
    assert found.tobytes() == image.crop((13, 17, 54, 40)).tobytes()
