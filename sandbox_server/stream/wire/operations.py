"""The operations of a frame: how each is serialized."""

import struct
from collections.abc import Sequence

EXACT, MOVES, JPEG, VIDEO, VIDEO_ENDS, KEEP, KEPT, OVER = range(1, 9)
KEY_FRAME = 1
"""Flag of a picture of a video: a keyframe, which needs none before it."""
TRACKED = 2
"""Flag of a picture of a video: it goes by the RTP track, and the operation holds its timestamp."""


def exact(packed: bytes, length: int) -> bytes:
    """Exact rects, compressed. `length` is their size uncompressed."""
    return struct.pack("<BII", EXACT, length, len(packed)) + packed


def moves(body: bytes) -> bytes:
    """Moved rects: pixels to copy within the picture. `body` holds `MovedRect`s."""
    return struct.pack("<BH", MOVES, len(body) // 12) + body


def jpeg(area: tuple[int, int, int, int], body: bytes) -> bytes:
    """A rect as a JPEG, which exact rects replace later."""
    return struct.pack("<BHHHHI", JPEG, *area, len(body)) + body


def video(number: int, area: tuple[int, int, int, int], body: bytes, *, key: bool) -> bytes:
    """The next picture of a video: an access unit of H.264."""
    return struct.pack("<BBBHHHHI", VIDEO, number, KEY_FRAME if key else 0, *area, len(body)) + body


def tracked(number: int, area: tuple[int, int, int, int], timestamp: int) -> bytes:
    """Where the picture of a video belongs that goes by the RTP track with this timestamp."""
    return struct.pack("<BBBHHHHII", VIDEO, number, TRACKED, *area, 4, timestamp)


def video_ends(number: int) -> bytes:
    """The end of a video; what was under it follows exactly."""
    return struct.pack("<BB", VIDEO_ENDS, number)


def keep(body: bytes) -> bytes:
    """Tiles to store in the tile cache. `body` holds `CachedTile`s."""
    return struct.pack("<BH", KEEP, len(body) // 6) + body


def kept(body: bytes) -> bytes:
    """Tiles to draw from the tile cache. `body` holds `CachedTile`s."""
    return struct.pack("<BH", KEPT, len(body) // 6) + body


def over(number: int, areas: Sequence[tuple[int, int, int, int]]) -> bytes:
    """The overlay of a video from now on: where the picture is shown over it."""
    return struct.pack("<BBH", OVER, number, len(areas)) + b"".join(struct.pack("<HHHH", *area) for area in areas)
