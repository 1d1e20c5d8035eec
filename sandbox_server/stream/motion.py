"""What really moves: rects that keep changing although nothing in them scrolled. They are worth a film.

Each tile is warmed by each change and cools with time: at 30 changes a second it is hot within a third of a second, at 10 within one and
a half; a caret that blinks or a hand that types never makes it so.

What is like text has to change more often than anybody reads, and not to have scrolled of late: a page that scrolls further between two
looks than is found again, as it does over a slow link, is no film. Its time goes on while nothing can be sent, so that few looks never
make it one.
"""

import ctypes
import math
from collections import deque
from dataclasses import dataclass, field

from sandbox_server.stream import pixels
from sandbox_server.stream.pixels import TILE, Area, Changes, around, meet, rects_of, scrolled

WARMS = 32
"""By one change of what is like a photograph."""
TEXT_WARMS = 16
"""By one of all else."""
COOLS = 160
"""A second: five changes a second keep a tile of a photograph as it is, and ten one of text."""
HOT = 192
SCROLLED = 255
"""A tile where something scrolled, and so much"""
SCROLLED_COOLS = 85
"""less with each second: for three seconds after it text there is no film,"""
PICTURE_SCROLLED = 212
"""and for half a second a photograph, of which a part came into sight."""
MIN_TILES = (4, 3)
"""What is narrower or lower is sent as cheaply as it is."""
MIN_SHARE = 0.6
"""Of a rect's tiles, so many have to be hot: what moves apart is no film."""
MAX_FILMS = 2
STILL_SECONDS = 0.4
STILL_CHANGES = 2
"""With fewer changes than this in that time, five a second as above, a film ends."""
REST_SECONDS, REST_PERIODS = 0.2, 4
"""After so long, and so many of its own pictures, without a change, it is begun to be sent exactly, unseen: so it is exact within a second
of its last picture, and a film that only paused goes on."""
KNOWN_CHANGES = 6
"""As many say how often it shows another picture."""


@dataclass(slots=True, eq=False)
class Place:
    """Where a film is, in pixels, and when it changed of late."""

    number: int
    area: Area
    changed: deque[float] = field(default_factory=lambda: deque(maxlen=KNOWN_CHANGES))
    """By a clock that stands still while nothing can be sent."""
    seen: deque[float] = field(default_factory=lambda: deque(maxlen=STILL_CHANGES))
    """By one that goes on."""
    left: list[Area] = field(default_factory=list)
    """What of it the viewer lacks exactly, since the latest change."""

    def moved(self, now: float, closed: float = 0.0) -> None:
        """Note that it shows another picture now; for `closed` seconds until now, in all, nothing could be sent."""
        self.changed.append(now - closed)
        self.seen.append(now)
        self.left = [self.area]

    @property
    def rests_at(self) -> float:
        """When it may be sent exactly, if nothing more changes; by the clock that stands still."""
        period = (self.changed[-1] - self.changed[0]) / max(1, len(self.changed) - 1)
        return self.changed[-1] + min(STILL_SECONDS, max(REST_SECONDS, REST_PERIODS * period))

    @property
    def ends_at(self) -> float:
        """When it will have ended, if nothing more changes, and the viewer has all of it by then."""
        return self.seen[0] + STILL_SECONDS

    def due_at(self, closed: float) -> float:
        """When there is something to do, if nothing more changes."""
        return self.rests_at + closed if self.left else self.ends_at


class _Heat:
    """How warm tiles are, each up to 255; they cool by so much a second."""

    def __init__(self, tiles: int, cools: int) -> None:
        self.tiles = (ctypes.c_uint8 * tiles)()
        self._cools = cools
        self._cooled = 0.0

    def cool(self, now: float) -> None:
        """Let them cool until now."""
        by = int((now - self._cooled) * self._cools)
        if by > 0:  # what is less than one counts the next time
            pixels.cool(self.tiles, by)
            self._cooled += by / self._cools


class Motion:
    """What moves on a screen of `width` x `height`, as one viewer is sent it."""

    def __init__(self, width: int, height: int) -> None:
        self._width = width
        self._height = height
        self._columns, self._rows = -(-width // TILE), -(-height // TILE)
        tiles = self._columns * self._rows
        self._pictures, self._texts, self._scrolled = _Heat(tiles, COOLS), _Heat(tiles, COOLS), _Heat(tiles, SCROLLED_COOLS)
        self.places: list[Place] = []
        self.skip = (ctypes.c_uint8 * tiles)()
        """Tiles that films show, for `Shadow.changes`."""

    def touched(self, areas: list[Area]) -> list[Place]:
        """The films where the screen was drawn on, which may show another picture now."""
        return [place for place in self.places if any(meet(place.area, area) for area in areas)]

    def beside(self, areas: list[Area]) -> list[Area]:
        """The areas that do not lie within a film as a whole."""
        return [area for area in areas if not any(around([area, place.area]) == place.area for place in self.places)]

    def scrolled(self, moves: bytes, now: float) -> None:
        """Note what moved, as `Shadow.moves` tells it."""
        self._scrolled.cool(now)
        pixels.warm(self._scrolled.tiles, self._columns, rects_of(scrolled(moves)), SCROLLED)

    def note(self, changes: Changes, now: float, closed: float = 0.0) -> None:
        """Note what changed and did not only move; for `closed` seconds until now, in all, nothing was looked at."""
        for heat, time in ((self._pictures, now - closed), (self._texts, now), (self._scrolled, now)):
            heat.cool(time)
        seen, tiles = self._scrolled.tiles, self._columns
        pixels.warm(self._pictures.tiles, tiles, changes.pictures, WARMS, other=seen, most=PICTURE_SCROLLED)
        pixels.warm(self._texts.tiles, tiles, changes.exact, TEXT_WARMS, other=seen)

    def begin(self, now: float, most: int = MAX_FILMS, closed: float = 0.0) -> list[Place]:
        """The films that begin, the largest first, where there are fewer than `most`. One that has grown begins anew, under its number."""
        begun: list[Place] = []
        found = pixels.hot_tiles(self._pictures.tiles, self._texts.tiles, self._columns, self._rows, HOT)
        for tiles, hot in sorted(found, key=lambda one: one[0][2] * one[0][3], reverse=True):
            whole, known, beside = self._with_neighbours(tiles, hot)
            area = self._even(whole)
            if area and _is_worth(whole, known) and len(self.places) - len(beside) < most:
                for place in beside:
                    self.places.remove(place)
                number = next(number for number in range(MAX_FILMS) if all(place.number != number for place in self.places))
                begun.append(place := Place(number, area))
                place.moved(now, closed)
                self.places.append(place)
                self._mark(whole, 1)
        return begun

    def _with_neighbours(self, tiles: Area, hot: int) -> tuple[Area, int, list[Place]]:
        """The tiles with the films that they touch: around all of them, how many of these tiles move, and those films."""
        x, y, width, height = tiles
        beside = [place for place in self.places if meet(self._tiles(place.area), (x - 1, y - 1, width + 2, height + 2))]
        parts = [self._tiles(place.area) for place in beside]
        return around([tiles, *parts]), hot + sum(wide * high for _, _, wide, high in parts), beside

    def resting(self, now: float, closed: float = 0.0) -> list[Place]:
        """The films that may be sent exactly, since they rest."""
        return [place for place in self.places if now - closed >= place.rests_at]

    def end(self, now: float) -> list[Place]:
        """The films that end: of which the viewer has all, or, at an infinite time, all of them."""
        ended = [place for place in self.places if now >= place.ends_at and (not place.left or math.isinf(now))]
        for place in ended:
            self.places.remove(place)
            self._mark(self._tiles(place.area), 0)
        return ended

    @staticmethod
    def _tiles(area: Area) -> Area:
        x, y, width, height = area
        return x // TILE, y // TILE, -(-width // TILE), -(-height // TILE)

    def due_at(self, closed: float = 0.0) -> float | None:
        """When there is something to do for a film, if nothing more changes; None where there is none."""
        return min((place.due_at(closed) for place in self.places), default=None)

    def _mark(self, tiles: Area, value: int) -> None:
        column, row, width, height = tiles
        for at in range(row, row + height):
            first = at * self._columns + column
            ctypes.memset(ctypes.addressof(self.skip) + first, value, width)
            for heat in (self._pictures, self._texts):
                ctypes.memset(ctypes.addressof(heat.tiles) + first, 0, width)

    def _even(self, tiles: Area) -> Area | None:
        """The tiles in pixels; None where they end at an edge of the screen that has no even place, which films need."""
        x, y = tiles[0] * TILE, tiles[1] * TILE
        width, height = min(tiles[2] * TILE, self._width - x), min(tiles[3] * TILE, self._height - y)
        return None if width % 2 or height % 2 else (x, y, width, height)


def _is_worth(tiles: Area, hot: int) -> bool:
    _, _, width, height = tiles
    return width >= MIN_TILES[0] and height >= MIN_TILES[1] and hot >= width * height * MIN_SHARE
