"""What one viewer has of the screen, and what to send it next. Used on the thread of the screen's connection."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sandbox_server.stream.pixels import Area, Frame, Rect, Rects, Shadow, cut

REPAY_SECONDS = 0.3
"""How long a picture has to be still before it is sent exactly: a scroll or a fade has ended by then."""
REPAY_PIXELS = 256 * 256
"""Most that is repaid at once, so that what changes meanwhile does not wait for long."""
MIN_LOSSY_PIXELS = 64 * 64
"""Fewer pixels than this that are like a photograph are sent exactly at once: it costs 10 kB."""
MAX_AREAS = 32
"""More areas than this are taken for the one that holds them all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send for one frame, before it is compressed."""

    size: tuple[int, int] | None = None
    """The screen's, if it is a new one."""
    moves: bytes = b""
    exact: tuple[bytes, ...] = ()
    pictures: tuple[tuple[Area, bytearray], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.size or self.moves or self.exact or self.pictures)


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
    """One viewer's picture."""

    def __init__(self) -> None:
        self._shadow = Shadow(0, 0)
        self._drawn = Areas()
        self._lossy = Areas()
        self._lossy_since = 0.0

    def drawn(self, areas: list[Area]) -> None:
        """Note that the screen was drawn on there."""
        self._drawn.add(areas)

    def restart(self) -> None:
        """The viewer has nothing."""
        self._shadow = Shadow(0, 0)

    @property
    def is_behind(self) -> bool:
        """Whether the viewer may lack something of the latest frame."""
        return bool(self._drawn.areas) or not self._shadow.width

    @property
    def repay_at(self) -> float | None:
        """When what the viewer has only something like is to be repaid; None if there is no such thing."""
        return self._lossy_since + REPAY_SECONDS if self._lossy.areas else None

    def plan(self, frame: Frame, now: float) -> Plan:
        """Everything that the viewer does not have, exactly or nearly."""
        size = self._fit(frame)
        areas = [area for drawn in self._drawn.clear() if (area := _within(drawn, frame))]
        moves = b"".join(self._shadow.moves(frame, area) for area in areas)
        exact: list[bytes] = []
        pictures: list[tuple[Area, bytearray]] = []
        for area in areas:
            changes = self._shadow.changes(frame, area)
            if changes.pictures.pixels < MIN_LOSSY_PIXELS:
                exact += self._send(frame, Rects(changes.exact.memory, 0, len(changes.exact) + len(changes.pictures)))
            else:
                exact += self._send(frame, changes.exact)
                pictures += self._approximate(frame, changes.pictures, now)
        return Plan(size, moves, tuple(exact), tuple(pictures))

    def repay(self, frame: Frame) -> Plan:
        """Some of what the viewer has something like, exactly."""
        if self._fit(frame):
            return Plan()
        exact: list[bytes] = []
        left = REPAY_PIXELS
        while self._lossy.areas and left > 0:
            area = self._lossy.areas.pop()
            now, later = _cut_off(area, left)
            if later:
                self._lossy.areas.append(later)
            changes = self._shadow.changes(frame, now, lossless=True)
            exact += self._send(frame, Rects(changes.exact.memory, 0, len(changes.exact) + len(changes.pictures)))
            left -= now[2] * now[3]
        return Plan(exact=tuple(exact))

    def _fit(self, frame: Frame) -> tuple[int, int] | None:
        if (self._shadow.width, self._shadow.height) == (frame.width, frame.height):
            return None
        self._shadow = Shadow(frame.width, frame.height)
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


def around(areas: list[Area]) -> Area:
    """The smallest area that holds them all."""
    left, top = min(x for x, _, _, _ in areas), min(y for _, y, _, _ in areas)
    right, bottom = max(x + width for x, _, width, _ in areas), max(y + height for _, y, _, height in areas)
    return left, top, right - left, bottom - top


def _area(rect: Rect) -> Area:
    return rect.x, rect.y, rect.width, rect.height


def _within(area: Area, frame: Frame) -> Area | None:
    left, top = max(0, area[0]), max(0, area[1])
    right, bottom = min(frame.width, area[0] + area[2]), min(frame.height, area[1] + area[3])
    return (left, top, right - left, bottom - top) if left < right and top < bottom else None


def _cut_off(area: Area, pixels: int) -> tuple[Area, Area | None]:
    """The upper part of an area that has about so many pixels, and the rest of it."""
    x, y, width, height = area
    rows = max(1, pixels // width)
    return (area, None) if rows >= height else ((x, y, width, rows), (x, y + rows, width, height - rows))
