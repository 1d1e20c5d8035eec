"""An update plan: what one viewer is sent for one frame, before it is encoded."""

from dataclasses import dataclass

from sandbox_server.stream.geometry import Area
from sandbox_server.stream.plan.active_videos import NextPicture


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """What to send for one frame."""

    frame: int = 0
    """The frame's number, from 1 in each connection."""
    size: tuple[int, int] | None = None
    """The screen's size, if it is a new one."""
    moves: bytes = b""
    """`MovedRect`s, in the order to apply them."""
    cached_tiles: tuple[tuple[bytes, bytes], ...] = ()
    """Tiles to store in the viewer's cache, and then tiles to draw from it, in turns."""
    exact: tuple[bytes, ...] = ()
    """Packed exact rects, uncompressed."""
    pictures: tuple[tuple[Area, bytearray], ...] = ()
    """What is sent as JPEG: areas with their pixels."""
    videos: tuple[NextPicture, ...] = ()
    overlays: tuple[tuple[int, tuple[Area, ...]], ...] = ()
    """Numbers of video regions, with the overlay rects that they have from now on."""
    ended: tuple[int, ...] = ()
    """Numbers of video regions that have no more pictures."""

    def __bool__(self) -> bool:
        return any((self.size, self.moves, self.cached_tiles, self.exact, self.pictures, self.videos, self.overlays, self.ended))
