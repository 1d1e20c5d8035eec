"""Pictures of the screen: made of raw pixels, scaled, and encoded natively."""

import io
from dataclasses import dataclass
from typing import Literal

from PIL import Image

type Format = Literal["png", "jpeg", "webp"]
type Size = tuple[int, int]

DEFAULT_QUALITY = 80
_PNG_LEVEL = 1
"""Higher levels take several times as long, for a tenth less."""


@dataclass(frozen=True, slots=True)
class X11Cursor:
    """The pointer's picture: RGBA with premultiplied alpha, and where its top left is on the screen."""

    image: Image.Image
    x: int
    y: int


def of_pixels(pixels: bytes, size: Size) -> Image.Image:
    """Make a picture of what `Segment.grab` gives."""
    return Image.frombuffer("RGB", size, pixels, "raw", "BGRX", 0, 1)


def cursor_of(pixels: list[int], size: Size, at: tuple[int, int]) -> X11Cursor:
    """Make a cursor of 32-bit pixels: alpha, red, green, blue from the highest byte."""
    raw = b"".join(pixel.to_bytes(4, "little") for pixel in pixels)
    return X11Cursor(Image.frombuffer("RGBa", size, raw, "raw", "BGRa", 0, 1), *at)


def draw(cursor: X11Cursor, picture: Image.Image, origin: tuple[int, int]) -> None:
    """Draw the cursor into a picture whose top left is `origin` on the screen."""
    at = (cursor.x - origin[0], cursor.y - origin[1])
    straight = cursor.image.convert("RGBA")
    picture.paste(straight, at, straight)


def encode(picture: Image.Image, form: Format, quality: int | None) -> bytes:
    """Encode a picture; `quality` from 0 to 100 is for JPEG and WebP, PNG keeps everything anyway."""
    written = io.BytesIO()
    chosen = DEFAULT_QUALITY if quality is None else quality
    if form == "png":
        picture.save(written, "PNG", compress_level=_PNG_LEVEL)
    elif form == "jpeg":
        picture.save(written, "JPEG", quality=max(1, chosen))
    else:
        picture.save(written, "WEBP", quality=chosen, method=0)
    return written.getvalue()


def scaled(picture: Image.Image, factor: float) -> Image.Image:
    """The picture at another scale; no side gets shorter than a pixel."""
    if factor == 1:
        return picture
    size = (max(1, round(picture.width * factor)), max(1, round(picture.height * factor)))
    return picture.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
