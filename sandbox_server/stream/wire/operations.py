"""What frames are made of: each of these is one operation of a part."""

import struct
from collections.abc import Sequence

EXACT, MOVES, JPEG, VIDEO, VIDEO_ENDS, KEEP, KEPT, OVER = range(1, 9)
KEY_FRAME = 1
"""Flag of a video's picture that needs none before it."""
TRACKED = 2
"""Another: the picture comes by the track, and this holds its timestamp."""


def exact(packed: bytes, length: int) -> bytes:
    """Operation: exact rects, compressed; `length` is what they have uncompressed."""
    return struct.pack("<BII", EXACT, length, len(packed)) + packed


def moves(body: bytes) -> bytes:
    """Operation: pixels that are elsewhere now; `body` holds `pixels.MovedRect`s."""
    return struct.pack("<BH", MOVES, len(body) // 12) + body


def jpeg(area: tuple[int, int, int, int], body: bytes) -> bytes:
    """Operation: a rect as a JPEG, to be repaid exactly later."""
    return struct.pack("<BHHHHI", JPEG, *area, len(body)) + body


def video(number: int, area: tuple[int, int, int, int], body: bytes, *, key: bool) -> bytes:
    """Operation: the next picture of a video."""
    return struct.pack("<BBBHHHHI", VIDEO, number, KEY_FRAME if key else 0, *area, len(body)) + body


def tracked(number: int, area: tuple[int, int, int, int], timestamp: int) -> bytes:
    """Operation: the picture of a video that the track carries with this timestamp of RTP belongs there."""
    return struct.pack("<BBBHHHHII", VIDEO, number, TRACKED, *area, 4, timestamp)


def video_ends(number: int) -> bytes:
    """Operation: a video has no more pictures; what was under it follows exactly."""
    return struct.pack("<BB", VIDEO_ENDS, number)


def keep(body: bytes) -> bytes:
    """Operation: tiles that are to be kept; `body` holds `pixels.Kept`s."""
    return struct.pack("<BH", KEEP, len(body) // 6) + body


def kept(body: bytes) -> bytes:
    """Operation: tiles that are kept, and are seen now; `body` holds `pixels.Kept`s."""
    return struct.pack("<BH", KEPT, len(body) // 6) + body


def over(number: int, areas: Sequence[tuple[int, int, int, int]]) -> bytes:
    """Operation: where the picture lies over a video from now on, and nowhere else."""
    return struct.pack("<BBH", OVER, number, len(areas)) + b"".join(struct.pack("<HHHH", *area) for area in areas)
