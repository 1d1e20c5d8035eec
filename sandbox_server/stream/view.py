"""What one viewer has of the screen, and what to send it next. Used on the thread of the screen's connection."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox_server.stream.motion import MAX_FILMS, Motion, Place
from sandbox_server.stream.nearest import nearest_first, outermost
from sandbox_server.stream.pixels import TILE, Area, Changes, Frame, Rect, Rects, Shadow, around, cut, meet
from sandbox_server.stream.playing import NextPicture, Playing

REPAY_SECONDS = 0.3
"""How long a picture has to be still before it is sent exactly: a scroll or a fade has ended by then."""
REPAY_PIXELS = 256 * 256
"""Most that is repaid at once, so that what changes meanwhile does not wait for long."""
REST_SHARE = 2
"""A film that rests is sent exactly with a pixel for so many bytes of the room that there is: more at once would overrun a queue."""
MIN_LOSSY_PIXELS = 64 * 64
"""Fewer pixels than this that are like a photograph are sent exactly at once: it costs 10 kB."""
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
    films: tuple[NextPicture, ...] = ()
    over: tuple[tuple[int, tuple[Area, ...]], ...] = ()
    """Films by their number, with where the picture lies over them from now on."""
    ended: tuple[int, ...] = ()
    """Films that have no more pictures."""

    def __bool__(self) -> bool:
        return any((self.size, self.moves, self.kept, self.exact, self.pictures, self.films, self.over, self.ended))


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
        self._playing = Playing()
        self._drawn = Areas()
        self._later: dict[Area, int] = {}
        self._lossy = Areas()
        self._lossy_since = 0.0
        self._frame = 0
        self._looked: list[Area] = []
        self._closed = 0.0
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
        self._playing.refresh()

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
        self._playing.clear()
        self._motion = Motion(*self.size)
        self._unsure.clear()
        self._frame = 0
        self._later.clear()
        self._drawn.areas = [(0, 0, *self.size)]

    @property
    def is_behind(self) -> bool:
        """Whether the viewer may lack something of the latest frame."""
        return bool(self._drawn.areas or self._later) or not self._shadow.width

    @property
    def due_at(self) -> float | None:
        """When there is something to do although nothing is drawn: to repay what is like the screen, what a film needs."""
        repay = self._lossy_since + REPAY_SECONDS if self._lossy.areas else None
        return min((due for due in (repay, self._motion.due_at(self._closed), self._playing.due_at) if due is not None), default=None)

    def plan(self, frame: Frame, now: float, room: int | None = None, pointer: tuple[int, int] = (0, 0), closed: float = 0.0) -> Plan:
        """What the viewer does not have, exactly or nearly; or, if that is nothing, what there is to repay by now.

        That is everything, or about `room` bytes of it, nearest to the pointer first, and the rest the next time. For `closed` seconds in
        all nothing could be sent, so nothing was looked at: what moves and what stands still is told without them.
        """
        self._looked, self._closed = [], closed
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
        drawn = [area for drawn in self._drawn.clear() if (area := _within(drawn, frame))]
        dropped = self._drop_films(now, drawn)
        touched = self._look_at_films(frame, drawn, now)
        films = tuple(self._playing.next(place.number, frame, now) for place, has_moved in touched.items() if has_moved)
        self._looked += [*drawn, *self._later]
        drawn = self._motion.beside(outermost(drawn))
        moved = [self._shadow.moves(frame, area) for area in drawn]
        self._note_moves([area for area, moves in zip(drawn, moved, strict=True) if moves], b"".join(moved), now)
        kept = [self._shadow.kept(frame, area, skip=self._motion.skip) for area, moves in zip(drawn, moved, strict=True) if not moves]
        exact = [piece for place in touched for piece in self._exact_over(frame, place)]
        pictures: list[tuple[Area, bytearray]] = []
        if room is None:
            for area in drawn:
                self._change(frame, area, now, exact, pictures)
        else:
            self._change_within(room, frame, drawn, pointer, now, exact, pictures)
        exact += self._rest(frame, now, None if room is None else room - _weight(exact, pictures))
        ended = dropped + self._end_films(now)  # of which the viewer has all exactly
        films += self._begun(frame, now)
        superseded = self._playing.end_others({place.number for place in self._motion.places})
        films = tuple(film for film in films if self._playing.is_of(film))
        sent = Plan(
            size=size,
            moves=b"".join(moved),
            kept=tuple(one for one in kept if any(one)),
            exact=tuple(exact),
            pictures=tuple(pictures),
            films=films,
            over=self._playing.news(),
            ended=ended + superseded,
        )
        return sent or (self._repay(frame) if self._lossy_since + REPAY_SECONDS <= now else sent)

    def _look_at_films(self, frame: Frame, areas: list[Area], now: float) -> dict[Place, bool]:
        """The films where it was drawn, and whether they show another picture."""
        drawn = self._motion.touched(areas)
        due = [
            place
            for place in self._motion.places
            if (place in drawn or self._playing.waits(place.number)) and self._playing.is_due(place.number, now)
        ]
        touched = {place: self._playing.has_moved(place.number, frame) for place in due}
        for place, has_moved in touched.items():
            if has_moved:
                place.moved(now, self._closed)
        return touched

    def _note_moves(self, moved: list[Area], moves: bytes, now: float) -> None:
        """What the viewer has something like may be anywhere within the areas now, and is not still."""
        if moved:
            self._motion.scrolled(moves, now)
        if moved and self._lossy.areas:
            self._lossy.add(moved)
            self._lossy_since = now

    def _exact_over(self, frame: Frame, place: Place) -> Iterator[bytes]:
        """What the viewer does not have of what lies over a film."""
        over = self._playing.over(place.number)
        self._looked += over
        for area in over:
            yield from self._send(frame, _all(self._shadow.changes(frame, area, lossless=True)))

    def _change_within(
        self,
        room: int,
        frame: Frame,
        drawn: list[Area],
        pointer: tuple[int, int],
        now: float,
        exact: list[bytes],
        pictures: list[tuple[Area, bytearray]],
    ) -> None:
        """Change about so many bytes of what was drawn and of what waits since an earlier look; the rest waits. All is told to `Motion`."""
        for area in drawn:
            self._motion.note(self._shadow.changes(frame, area, skip=self._motion.skip), now, self._closed)
        waited, self._later = self._later, {}
        for area in nearest_first(outermost([*drawn, *self._motion.beside([*waited])]), pointer, waited):
            if _weight(exact, pictures) < room:
                self._send_changes(frame, self._shadow.changes(frame, area, skip=self._motion.skip), now, exact, pictures)
            else:
                self._later[area] = 1 + max((times for other, times in waited.items() if meet(area, other)), default=0)
        if len(self._later) > MAX_AREAS:
            self._later = {around([*self._later]): max(self._later.values())}

    def _change(self, frame: Frame, area: Area, now: float, exact: list[bytes], pictures: list[tuple[Area, bytearray]]) -> None:
        changes = self._shadow.changes(frame, area, skip=self._motion.skip)
        self._motion.note(changes, now, self._closed)
        self._send_changes(frame, changes, now, exact, pictures)

    def _send_changes(self, frame: Frame, changes: Changes, now: float, exact: list[bytes], pictures: list[tuple[Area, bytearray]]) -> None:
        if changes.pictures.pixels < MIN_LOSSY_PIXELS:
            exact += self._send(frame, _all(changes))
        else:
            exact += self._send(frame, changes.exact)
            pictures += self._approximate(frame, changes.pictures, now)

    def _begun(self, frame: Frame, now: float) -> tuple[NextPicture, ...]:
        begun = self._motion.begin(now, self.films, self._closed) if self.films else []
        return tuple(self._playing.begin(place.number, place.area, frame, now) for place in begun)

    def _drop_films(self, now: float, areas: list[Area]) -> tuple[int, ...]:
        """End all films where the viewer shows none any more; what is under them is then part of the areas, and to be repaid."""
        if self.films or not self._motion.places:
            return ()
        areas += (dropped := [place.area for place in self._motion.places])
        self._lossy.add(dropped)
        self._lossy_since = now
        ended = self._end_films(math.inf)
        self._drawn.clear()  # it is looked at now
        return ended

    def _rest(self, frame: Frame, now: float, room: int | None) -> list[bytes]:
        """Something of what the films that rest show, exactly: it is not seen before they end, nor if they go on."""
        exact: list[bytes] = []
        for place in self._motion.resting(now, self._closed):
            exact += self._exactly(frame, place.left, REPAY_PIXELS if room is None else min(REPAY_PIXELS, room // REST_SHARE))
        return exact

    def _end_films(self, now: float) -> tuple[int, ...]:
        ended = self._motion.end(now)
        for place in ended:
            self._playing.end(place.number)
            self._drawn.add([place.area])  # what was drawn there since, and waited for the film's next picture
        return tuple(place.number for place in ended)

    def _repay(self, frame: Frame) -> Plan:
        """Some of what the viewer has something like, exactly."""
        return Plan(exact=tuple(self._exactly(frame, self._lossy.areas, REPAY_PIXELS, skip=self._motion.skip)))

    def _exactly(self, frame: Frame, areas: list[Area], pixels: int, *, skip: Any = None) -> list[bytes]:
        """About so many pixels of the areas, exactly; the rest of them is left there."""
        exact: list[bytes] = []
        while areas and pixels > 0:
            now, later = _cut_off(areas.pop(), pixels)
            if later:
                areas.append(later)
            self._looked.append(now)
            exact += self._send(frame, _all(self._shadow.changes(frame, now, lossless=True, skip=skip)))
            pixels -= now[2] * now[3]
        return exact

    def _fit(self, frame: Frame) -> tuple[int, int] | None:
        if (self._shadow.width, self._shadow.height) == (frame.width, frame.height):
            return None
        self._shadow = Shadow(frame.width, frame.height)
        self._motion = Motion(frame.width, frame.height)
        self._playing.clear()
        self._lossy.clear()
        self._later.clear()
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


def _all(changes: Changes) -> Rects:
    return Rects(changes.exact.memory, 0, len(changes.exact) + len(changes.pictures))


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
