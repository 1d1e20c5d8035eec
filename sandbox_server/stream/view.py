"""What one viewer has of the screen, and what to send it next. Used on the thread of the screen's connection."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sandbox_server.stream.films import FilmWriter
from sandbox_server.stream.motion import MAX_FILMS, Motion
from sandbox_server.stream.nearest import nearest_first
from sandbox_server.stream.pixels import TILE, Area, Frame, Rect, Rects, Shadow, around, cut

REPAY_SECONDS = 0.3
"""How long a picture has to be still before it is sent exactly: a scroll or a fade has ended by then."""
REPAY_PIXELS = 256 * 256
"""Most that is repaid at once, so that what changes meanwhile does not wait for long."""
MIN_LOSSY_PIXELS = 64 * 64
"""Fewer pixels than this that are like a photograph are sent exactly at once: it costs 10 kB."""
FIRST_RATE = 8_000_000
"""Bits a second that a film may take before it is known what the link does."""
EXACT_SHRINKS, PICTURE_SHRINKS = 4, 20
"""By about so much, when they are compressed."""
MAX_AREAS = 32
"""More areas than this are taken for the one that holds them all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send for one frame, before it is compressed."""

    frame: int = 0
    """Its number, from 1 in each connection."""
    size: tuple[int, int] | None = None
    """The screen's, if it is a new one."""
    moves: bytes = b""
    kept: tuple[tuple[bytes, bytes], ...] = ()
    """What to keep, and what to put from what is kept, in turns."""
    exact: tuple[bytes, ...] = ()
    pictures: tuple[tuple[Area, bytearray], ...] = ()
    films: tuple[tuple[int, FilmWriter], ...] = ()
    """Films by their number, with the picture that comes next."""
    ended: tuple[int, ...] = ()
    """Films that have no more pictures."""

    def __bool__(self) -> bool:
        return bool(self.size or self.moves or self.kept or self.exact or self.pictures or self.films or self.ended)


@dataclass(slots=True)
class Areas:
    """Areas of the screen, a bounded number of them."""

    areas: list[Area] = field(default_factory=list)

    def add(self, areas: list[Area]) -> None:
        """Add some."""
        self.areas += [area for area in areas if area not in self.areas]
        if len(self.areas) > MAX_AREAS:
            self.areas = [around(self.areas)]

    def clear(self) -> list[Area]:
        """Take them all."""
        taken, self.areas = self.areas, []
        return taken


class View:
    """One viewer's picture; `films` says whether it shows them."""

    def __init__(self, *, films: bool = False) -> None:
        self.films = MAX_FILMS if films else 0
        """How many it shows at once."""
        self._shadow = Shadow(0, 0)
        self._motion = Motion(0, 0)
        self._writers: dict[int, FilmWriter] = {}
        self._drawn = Areas()
        self._lossy = Areas()
        self._lossy_since = 0.0
        self._frame = 0
        self._looked: list[Area] = []
        self._unsure: deque[tuple[int, list[Area]]] = deque()

    @property
    def size(self) -> tuple[int, int]:
        """The screen's, as the viewer knows it."""
        return self._shadow.width, self._shadow.height

    def drawn(self, areas: list[Area]) -> None:
        """Note that the screen was drawn on there."""
        self._drawn.add(areas)

    def restart(self) -> None:
        """The viewer has nothing."""
        self._shadow = Shadow(0, 0)

    def refresh(self) -> None:
        """The viewer cannot show its films: their next pictures have to do without those before."""
        for writer in self._writers.values():
            writer.refresh()

    def acked(self, frame: int) -> None:
        """The viewer has this frame, and all before it."""
        while self._unsure and self._unsure[0][0] <= frame:
            self._unsure.popleft()

    def resume(self, frame: int) -> None:
        """Go on in another connection with a viewer that has the frames up to this one, and of later ones perhaps something."""
        lost = [area for number, areas in self._unsure if number > frame for area in areas]
        for area in [*lost, *(place.area for place in self._motion.places)]:
            self._shadow.forget(_tiles(area, *self.size))
        if lost:
            self._shadow.forget_kept()
        self._writers.clear()
        self._motion = Motion(*self.size)
        self._unsure.clear()
        self._frame = 0
        self._drawn.areas = [(0, 0, *self.size)]

    @property
    def is_behind(self) -> bool:
        """Whether the viewer may lack something of the latest frame."""
        return bool(self._drawn.areas) or not self._shadow.width

    @property
    def due_at(self) -> float | None:
        """When there is something to do although nothing is drawn: to repay what is only like the screen, or to end a film."""
        repay = self._lossy_since + REPAY_SECONDS if self._lossy.areas else None
        return min((due for due in (repay, self._motion.ends_at) if due is not None), default=None)

    def plan(self, frame: Frame, now: float, room: int | None = None, pointer: tuple[int, int] = (0, 0)) -> Plan:
        """What the viewer does not have, exactly or nearly; or, if that is nothing, what there is to repay by now.

        That is everything, or about `room` bytes of it, nearest to the pointer first, and the rest the next time.
        """
        self._looked = []
        planned = self._planned(frame, now, room, pointer)
        if not planned:
            return planned
        self._unsure.append((self._frame + 1, self._looked))
        return replace(planned, frame=self._frame + 1)

    def sent(self, frame: int) -> None:
        """The frame of this number is on its way, and the next has the next number; one that is planned and not sent needs a `restart`."""
        self._frame = frame

    def _planned(self, frame: Frame, now: float, room: int | None, pointer: tuple[int, int]) -> Plan:
        size = self._fit(frame)
        areas = [area for drawn in self._drawn.clear() if (area := _within(drawn, frame))]
        changed = self._motion.drawn(areas, now)
        ended = self._end_films(now, areas)
        films = tuple(self._next(place.number, frame) for place in changed if place.number not in ended)
        moved = [self._shadow.moves(frame, area) for area in areas]
        kept = [self._shadow.kept(frame, area, skip=self._motion.skip) for area, moves in zip(areas, moved, strict=True) if not moves]
        exact: list[bytes] = []
        pictures: list[tuple[Area, bytearray]] = []
        later: list[Area] = []
        for area in areas if room is None else nearest_first(areas, pointer):
            if room is None or _weight(exact, pictures) < room:
                self._change(frame, area, now, exact, pictures)
            else:
                later.append(area)
        self._drawn.add(later)
        films = tuple(film for film in films + self._begun(frame, now) if film[1] is self._writers.get(film[0]))
        self._looked += areas
        sent = Plan(
            size=size,
            moves=b"".join(moved),
            kept=tuple(one for one in kept if any(one)),
            exact=tuple(exact),
            pictures=tuple(pictures),
            films=films,
            ended=ended + self._superseded(),
        )
        return sent or (self._repay(frame) if self._lossy_since + REPAY_SECONDS <= now else sent)

    def _change(self, frame: Frame, area: Area, now: float, exact: list[bytes], pictures: list[tuple[Area, bytearray]]) -> None:
        changes = self._shadow.changes(frame, area, skip=self._motion.skip)
        everything = Rects(changes.exact.memory, 0, len(changes.exact) + len(changes.pictures))
        self._motion.note(everything, now)
        if changes.pictures.pixels < MIN_LOSSY_PIXELS:
            exact += self._send(frame, everything)
        else:
            exact += self._send(frame, changes.exact)
            pictures += self._approximate(frame, changes.pictures, now)

    def _begun(self, frame: Frame, now: float) -> tuple[tuple[int, FilmWriter], ...]:
        """Films that begin. What is under them is not kept up to date."""
        begun = self._motion.begin(now, self.films) if self.films else []
        for place in begun:
            self._shadow.forget(place.area)
            self._writers[place.number] = FilmWriter(place.area, FIRST_RATE)
        return tuple(self._next(place.number, frame) for place in begun)

    def _superseded(self) -> tuple[int, ...]:
        """Films that have become part of others."""
        gone = self._writers.keys() - {place.number for place in self._motion.places}
        for number in gone:
            del self._writers[number]
        return tuple(gone)

    def _next(self, number: int, frame: Frame) -> tuple[int, FilmWriter]:
        writer = self._writers[number]
        writer.take(frame)
        return number, writer

    def _end_films(self, now: float, areas: list[Area]) -> tuple[int, ...]:
        """End films that stand still, or that the viewer shows no more; what is under them is then part of the areas."""
        ended = self._motion.end(now if self.films else math.inf)
        areas += [place.area for place in ended]
        for place in ended:
            del self._writers[place.number]
        return tuple(place.number for place in ended)

    def _repay(self, frame: Frame) -> Plan:
        """Some of what the viewer has something like, exactly."""
        exact: list[bytes] = []
        left = REPAY_PIXELS
        while self._lossy.areas and left > 0:
            area = self._lossy.areas.pop()
            now, later = _cut_off(area, left)
            if later:
                self._lossy.areas.append(later)
            self._looked.append(now)
            changes = self._shadow.changes(frame, now, lossless=True, skip=self._motion.skip)
            exact += self._send(frame, Rects(changes.exact.memory, 0, len(changes.exact) + len(changes.pictures)))
            left -= now[2] * now[3]
        return Plan(exact=tuple(exact))

    def _fit(self, frame: Frame) -> tuple[int, int] | None:
        if (self._shadow.width, self._shadow.height) == (frame.width, frame.height):
            return None
        self._shadow = Shadow(frame.width, frame.height)
        self._motion = Motion(frame.width, frame.height)
        self._writers.clear()
        self._lossy.clear()
        self._drawn.areas = [(0, 0, frame.width, frame.height)]
        return frame.width, frame.height

    def _send(self, frame: Frame, rects: Rects) -> Iterator[bytes]:
        if rects:
            yield from self._shadow.pack(frame, rects)
            self._shadow.take(frame, rects)

    def _approximate(self, frame: Frame, rects: Rects, now: float) -> Iterator[tuple[Area, bytearray]]:
        self._shadow.take(frame, rects, lossy=True)
        self._lossy_since = now
        self._lossy.add([_area(rect) for rect in rects])
        for rect in rects:
            yield _area(rect), cut(frame, rect)


def _weight(exact: list[bytes], pictures: list[tuple[Area, bytearray]]) -> int:
    """About how many bytes they are when compressed."""
    return sum(map(len, exact)) // EXACT_SHRINKS + sum(len(pixels) for _, pixels in pictures) // PICTURE_SHRINKS


def _area(rect: Rect) -> Area:
    return rect.x, rect.y, rect.width, rect.height


def _tiles(area: Area, width: int, height: int) -> Area:
    """The area with all of the tiles that it touches."""
    left, top = area[0] // TILE * TILE, area[1] // TILE * TILE
    right, bottom = -(-(area[0] + area[2]) // TILE) * TILE, -(-(area[1] + area[3]) // TILE) * TILE
    return left, top, min(right, width) - left, min(bottom, height) - top


def _within(area: Area, frame: Frame) -> Area | None:
    left, top = max(0, area[0]), max(0, area[1])
    right, bottom = min(frame.width, area[0] + area[2]), min(frame.height, area[1] + area[3])
    return (left, top, right - left, bottom - top) if left < right and top < bottom else None


def _cut_off(area: Area, pixels: int) -> tuple[Area, Area | None]:
    """The upper part of an area that has about so many pixels, and the rest of it."""
    x, y, width, height = area
    rows = max(1, pixels // width)
    return (area, None) if rows >= height else ((x, y, width, rows), (x, y + rows, width, height - rows))
