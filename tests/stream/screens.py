"""Pictures as screens have them, in memory that native code reads: text that scrolls, photographs, areas of one colour."""

import ctypes
import functools
import random
from collections.abc import Sequence

from PIL import Image, ImageDraw

from sandbox_server.stream.capture.frame import CapturedFrame

type Size = tuple[int, int]

_shown: list[object] = []
"""Memory of frames, which hold only its address."""


def framed(image: Image.Image) -> CapturedFrame:
    """The picture as a frame; the highest byte of its pixels is rubbish, as an X server's may be."""
    raw = bytearray(image.convert("RGB").tobytes("raw", "BGRX"))
    raw[3::4] = random.Random(1).randbytes(len(raw) // 4)
    memory = (ctypes.c_uint8 * len(raw)).from_buffer(raw)
    _shown.append(memory)
    return CapturedFrame(ctypes.addressof(memory), *image.size)


def page(size: Size, *, scrolled: int = 0, seed: int = 1) -> Image.Image:
    """A page of text, scrolled down by so many pixels, with a bar beside it that stays."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for line, (text, blue) in enumerate(_lines(seed)):
        if -16 < line * 16 - scrolled < size[1]:
            draw.text((10, line * 16 - scrolled), text, fill=(0, 0, blue))
    draw.rectangle((size[0] - 30, 0, size[0], size[1]), fill=(200, 200, 210))
    return image


@functools.cache
def _lines(seed: int) -> list[tuple[str, int]]:
    chance = random.Random(seed)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(200)]
    return [(" ".join(chance.choices(words, k=14)), chance.randint(0, 120)) for _ in range(80)]


def photograph(size: Size, seed: int = 1) -> Image.Image:
    """What no two pixels of are alike, but neighbours are near each other."""
    small = Image.frombytes("RGB", (8, 8), random.Random(seed).randbytes(192)).resize(size, Image.Resampling.BICUBIC)
    noise = Image.frombytes("RGB", size, random.Random(seed + 1).randbytes(size[0] * size[1] * 3))
    return Image.blend(small, noise, 0.08)


def with_photograph(size: Size, area: Sequence[int]) -> Image.Image:
    """A page with a photograph at x, y, width, height."""
    image = page(size)
    image.paste(photograph((area[2], area[3])), (area[0], area[1]))
    return image
