"""The lossless codec for text and interface: rects as solid colours, palettes or planes, compressed with Zstandard.

The layout is in docs/stream-protocol.md, "Exact rects".
"""

import ctypes
from collections.abc import Iterator

from sandbox_server.stream import wire
from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.codecs.zstd import BadCompression, compress, decompress
from sandbox_server.stream.native.library import library
from sandbox_server.stream.native.rect_array import RectArray
from sandbox_server.stream.wire import MalformedMessage

PIECE_BYTES = 1 << 18
"""Largest piece of packed rects before compression, so that a viewer can draw one while the next is made."""
SMALL_BYTES = 2048
"""A smaller piece is compressed at one level, on the calling thread: to hand it to another takes longer."""
MAX_UNPACKED = 16 << 20
"""Most bytes that the exact rects of one operation may decompress to."""
_LEVELS = (3, 1)
"""Levels of zstd; the smaller result is sent. Level 1 looks for fewer repetitions, and saves a tenth on what is like a photograph."""
_RECT_BYTES = 4 * 256 * 256 + 1024
"""What the largest rect may take."""


class ExactPacker:
    """Packs rects of a frame, into one buffer that it reuses."""

    def __init__(self) -> None:
        self._buffer = (ctypes.c_uint8 * (max(PIECE_BYTES, _RECT_BYTES)))()

    def pack(self, frame: CapturedFrame, rects: RectArray) -> Iterator[bytes]:
        """The rects of the frame, uncompressed, in pieces of about PIECE_BYTES."""
        done, length = 0, ctypes.c_size_t()
        while done < len(rects):
            done += library().pack(
                frame.address, frame.width, rects.at(done), len(rects) - done, self._buffer, len(self._buffer), ctypes.byref(length)
            )
            yield memoryview(self._buffer)[: length.value].tobytes()


def encode_exact(piece: bytes) -> bytes:
    """Compress a piece of packed rects into an operation."""
    levels = _LEVELS if len(piece) > SMALL_BYTES else _LEVELS[:1]
    return wire.exact(min((compress(piece, level) for level in levels), key=len), len(piece))


def decode_exact(packed: bytes, length: int, canvas: Canvas) -> None:
    """Draw compressed exact rects, of `length` bytes uncompressed. Raises MalformedMessage."""
    if length > MAX_UNPACKED:
        raise MalformedMessage(f"exact rects have at most {MAX_UNPACKED} bytes")
    try:
        drawn = canvas.unpack(decompress(packed, length))
    except BadCompression as bad:
        raise MalformedMessage(str(bad)) from None
    if not drawn:
        raise MalformedMessage("these are no rects of the picture")
