"""Screenshots: images made of raw pixels, scaled and encoded."""

import io
from dataclasses import dataclass
from typing import Literal

from PIL import Image

type Format = Literal["png", "jpeg", "webp"]
type Size = tuple[int, int]

DEFAULT_QUALITY = 80
_PNG_LEVEL = 1
"""Higher levels take several times as long and save a tenth."""


@dataclass(frozen=True, slots=True)
class X11Cursor:
    """The cursor's image: RGBA with premultiplied alpha, and the position of its top left on the screen."""

    image: Image.Image
    x: int
    y: int


def of_pixels(pixels: bytes, size: Size) -> Image.Image:
    """Make an image from the output of `Segment.grab`."""
    return Image.frombuffer("RGB", size, pixels, "raw", "BGRX", 0, 1)


def cursor_of(pixels: list[int], size: Size, at: tuple[int, int]) -> X11Cursor:
    """Make a cursor from 32-bit pixels: alpha, red, green, blue from the highest byte."""
    raw = b"".join(pixel.to_bytes(4, "little") for pixel in pixels)
    return X11Cursor(Image.frombuffer("RGBa", size, raw, "raw", "BGRa", 0, 1), *at)


def draw(cursor: X11Cursor, picture: Image.Image, origin: tuple[int, int]) -> None:
    """Draw the cursor into an image whose top left is `origin` on the screen."""
    at = (cursor.x - origin[0], cursor.y - origin[1])
    straight = cursor.image.convert("RGBA")
    picture.paste(straight, at, straight)


def encode(picture: Image.Image, form: Format, quality: int | None) -> bytes:
    """Encode an image. `quality` from 0 to 100 applies to JPEG and WebP; PNG is lossless."""
    written = io.BytesIO()
    chosen = DEFAULT_QUALITY if quality is None else quality
    if form == "png":
        picture.save(written, "PNG", compress_level=_PNG_LEVEL)
    elif form == "jpeg":
        picture.save(written, "JPEG", quality=max(1, chosen))
    else:
        picture.save(written, "WEBP", quality=chosen, method=0)
    return written.getvalue()


def resized(picture: Image.Image, size: Size) -> Image.Image:
    """Scale an image to a size, each side for itself."""
    return picture if picture.size == size else picture.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)


def scaled(picture: Image.Image, factor: float) -> Image.Image:
    """Scale an image. No side gets shorter than one pixel."""
    return resized(picture, (max(1, round(picture.width * factor)), max(1, round(picture.height * factor))))
