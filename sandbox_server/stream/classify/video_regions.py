"""Video region detection: rects that keep changing although nothing in them scrolled, which are worth encoding as video.

Each change raises the activity of its tiles, and activity decays with time. At 30 changes a second a tile reaches the threshold within a
third of a second, at 10 within one and a half; a caret that blinks or a person who types never reaches it.

Text has a stricter rule: it has to change more often than anybody reads, and must not have scrolled recently. Over a slow link a page can
scroll further between two looks than motion search finds, and would look like video otherwise. For the same reason the activity of text
decays while nothing can be sent, and that of photographs does not.
"""

import ctypes
import math
from collections import deque
from dataclasses import dataclass, field

from sandbox_server.stream.classify.activity import ActivityMap, fill_tiles
from sandbox_server.stream.classify.shadow_buffer import FrameChanges
from sandbox_server.stream.geometry import Area, bounding_box, contains, intersects
from sandbox_server.stream.native.library import TILE
from sandbox_server.stream.native.rect_array import rect_array, scrolled_areas

PICTURE_RISE = 32
"""Activity that one change of what is like a photograph adds."""
TEXT_RISE = 16
"""Activity that a change of anything else adds."""
DECAY = 160
"""Activity that is lost a second. Five changes a second keep a tile of a photograph as it is, and ten one of text."""
THRESHOLD = 192
"""Activity from which a tile may belong to a video region."""
SCROLLED = 255
"""Level of a tile where something scrolled."""
SCROLLED_DECAY = 85
"""What that level loses a second: for three seconds after a scroll, text there is no video."""
PICTURE_SCROLLED = 212
"""Above this level photographs are no video either: for half a second, as a part of one came into sight."""
MIN_TILES = (4, 3)
"""Least width and height of a video region: what is smaller is sent as cheaply without one."""
MIN_SHARE = 0.6
"""Part of a region's tiles that have to be active: what moves far apart is no video."""
MAX_VIDEOS = 2
"""Video regions of one viewer at once."""
STILL_SECONDS = 0.4
"""A region ends when it has stood still for so long."""
STILL_CHANGES = 2
"""Fewer changes than this within STILL_SECONDS count as standing still."""
REST_SECONDS, REST_PERIODS = 0.2, 4
"""After so long, and so many of its own frame periods, without a change, a region is sent exactly under the video. So it is exact within a
second of its last picture, and a video that only paused goes on."""
KNOWN_CHANGES = 6
"""Changes from which a region's frame period is estimated."""


@dataclass(slots=True, eq=False)
class VideoRegion:
    """A rect that is shown as video, and when it changed recently."""

    number: int
    area: Area
    changed: deque[float] = field(default_factory=lambda: deque(maxlen=KNOWN_CHANGES))
    """Times of the latest changes, by a clock that stands still while nothing can be sent."""
    seen: deque[float] = field(default_factory=lambda: deque(maxlen=STILL_CHANGES))
    """The same times, by a clock that goes on."""
    left: list[Area] = field(default_factory=list)
    """The parts that the viewer does not have exactly, since the latest change."""

    def note_change(self, now: float, closed: float = 0.0) -> None:
        """Note that it shows another picture. For `closed` seconds until now, in all, nothing could be sent."""
        self.changed.append(now - closed)
        self.seen.append(now)
        self.left = [self.area]

    @property
    def rests_at(self) -> float:
        """When it may be sent exactly if nothing more changes, by the clock that stands still."""
        period = (self.changed[-1] - self.changed[0]) / max(1, len(self.changed) - 1)
        return self.changed[-1] + min(STILL_SECONDS, max(REST_SECONDS, REST_PERIODS * period))

    @property
    def ends_at(self) -> float:
        """When it ends if nothing more changes, and the viewer has all of it exactly by then."""
        return self.seen[0] + STILL_SECONDS

    def due_at(self, closed: float) -> float:
        """When there is something to do for it if nothing more changes."""
        return self.rests_at + closed if self.left else self.ends_at


class VideoRegionDetector:
    """Finds the video regions of a screen of `width` x `height`, in what one viewer is sent."""

    def __init__(self, width: int, height: int) -> None:
        self._width = width
        self._height = height
        self._columns, self._rows = -(-width // TILE), -(-height // TILE)
        self._pictures, self._texts, self._scrolled = (
            ActivityMap(self._columns, self._rows, decay) for decay in (DECAY, DECAY, SCROLLED_DECAY)
        )
        self.regions: list[VideoRegion] = []
        self.skip = (ctypes.c_uint8 * (self._columns * self._rows))()
        """Marks the tiles that video regions show, for `ShadowBuffer.changes`."""

    def touched(self, areas: list[Area]) -> list[VideoRegion]:
        """The regions where the screen was drawn on, which may show another picture now."""
        return [region for region in self.regions if any(intersects(region.area, area) for area in areas)]

    def outside(self, areas: list[Area]) -> list[Area]:
        """The areas that do not lie within one region as a whole."""
        return [area for area in areas if not any(contains(region.area, area) for region in self.regions)]

    def note_scroll(self, moves: bytes, now: float) -> None:
        """Note what moved, as `ShadowBuffer.moves` found it."""
        self._scrolled.decay_to(now)
        self._scrolled.raise_by(SCROLLED, rect_array(scrolled_areas(moves)))

    def note_changes(self, changes: FrameChanges, now: float, closed: float = 0.0) -> None:
        """Note what changed and did not only move. For `closed` seconds until now, in all, nothing was compared."""
        for activity, time in ((self._pictures, now - closed), (self._texts, now), (self._scrolled, now)):
            activity.decay_to(time)
        self._pictures.raise_by(PICTURE_RISE, changes.pictures, unless=self._scrolled, above=PICTURE_SCROLLED)
        self._texts.raise_by(TEXT_RISE, changes.exact, unless=self._scrolled)

    def begin(self, now: float, most: int = MAX_VIDEOS, closed: float = 0.0) -> list[VideoRegion]:
        """Begin new regions, the largest first, while there are fewer than `most`. One that has grown begins anew under its number."""
        begun: list[VideoRegion] = []
        found = self._pictures.clusters(self._texts, THRESHOLD)
        for tiles, active in sorted(found, key=lambda one: one[0][2] * one[0][3], reverse=True):
            whole, known, adjacent = self._with_adjacent(tiles, active)
            area = self._even(whole)
            if area and _is_worth(whole, known) and len(self.regions) - len(adjacent) < most:
                for region in adjacent:
                    self.regions.remove(region)
                number = next(number for number in range(MAX_VIDEOS) if all(region.number != number for region in self.regions))
                begun.append(region := VideoRegion(number, area))
                region.note_change(now, closed)
                self.regions.append(region)
                self._mark(whole, 1)
        return begun

    def _with_adjacent(self, tiles: Area, active: int) -> tuple[Area, int, list[VideoRegion]]:
        """A cluster joined with the regions that it touches: the area in tiles, its active tiles, and those regions."""
        x, y, width, height = tiles
        adjacent = [region for region in self.regions if intersects(self._tiles(region.area), (x - 1, y - 1, width + 2, height + 2))]
        parts = [self._tiles(region.area) for region in adjacent]
        return bounding_box([tiles, *parts]), active + sum(wide * high for _, _, wide, high in parts), adjacent

    def resting(self, now: float, closed: float = 0.0) -> list[VideoRegion]:
        """The regions that may be sent exactly, since they rest."""
        return [region for region in self.regions if now - closed >= region.rests_at]

    def end(self, now: float) -> list[VideoRegion]:
        """End the regions that stand still and that the viewer has exactly; at an infinite time, end all."""
        ended = [region for region in self.regions if now >= region.ends_at and (not region.left or math.isinf(now))]
        for region in ended:
            self.regions.remove(region)
            self._mark(self._tiles(region.area), 0)
        return ended

    @staticmethod
    def _tiles(area: Area) -> Area:
        x, y, width, height = area
        return x // TILE, y // TILE, -(-width // TILE), -(-height // TILE)

    def due_at(self, closed: float = 0.0) -> float | None:
        """When there is something to do for a region if nothing more changes; None where there is no region."""
        return min((region.due_at(closed) for region in self.regions), default=None)

    def _mark(self, tiles: Area, value: int) -> None:
        fill_tiles(self.skip, self._columns, tiles, value)
        for activity in (self._pictures, self._texts):
            activity.clear(tiles)

    def _even(self, tiles: Area) -> Area | None:
        """The tiles in pixels; None where the screen's edge gives them an odd side, which H.264 does not take."""
        x, y = tiles[0] * TILE, tiles[1] * TILE
        width, height = min(tiles[2] * TILE, self._width - x), min(tiles[3] * TILE, self._height - y)
        return None if width % 2 or height % 2 else (x, y, width, height)


def _is_worth(tiles: Area, active: int) -> bool:
    _, _, width, height = tiles
    return width >= MIN_TILES[0] and height >= MIN_TILES[1] and active >= width * height * MIN_SHARE
