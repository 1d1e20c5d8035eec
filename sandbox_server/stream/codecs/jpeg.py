"""The lossy codec for photographs: a rect as a baseline JPEG, replaced by exact rects once it is still."""

import io

from PIL import Image, UnidentifiedImageError

from sandbox_server.stream import wire
from sandbox_server.stream.geometry import Area
from sandbox_server.stream.wire import MalformedMessage

QUALITY = 80
"""Quality of the JPEG, on libjpeg's scale to 100."""


def encode_jpeg(area: Area, pixels: bytearray) -> bytes:
    """Compress the pixels of an area (blue, green, red, unused) into an operation."""
    image = Image.frombuffer("RGB", area[2:], pixels, "raw", "BGRX", 0, 1)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return wire.jpeg(area, out.getvalue())


def decode_jpeg(packed: bytes, size: tuple[int, int]) -> bytes:
    """The pixels (blue, green, red, unused) of a JPEG that has that size. Raises MalformedMessage."""
    try:
        with Image.open(io.BytesIO(packed), formats=["JPEG"]) as image:
            if image.size != size:
                raise MalformedMessage("a picture does not have the size of its rect")
            return image.convert("RGB").tobytes("raw", "BGRX")
    except (UnidentifiedImageError, OSError, SyntaxError):
        raise MalformedMessage("this is no JPEG") from None
