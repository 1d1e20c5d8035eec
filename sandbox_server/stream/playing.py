"""The films that one viewer is shown, and what stands still over them: a menu, a dialog, a caption, which are shown exactly."""

from dataclasses import dataclass

from sandbox_server.stream.films import FilmWriter
from sandbox_server.stream.ladder import Ladder
from sandbox_server.stream.pixels import Area, Frame, Stood

FIRST_RATE = 8_000_000
"""Bits a second that a film may take before it is known what the link does."""
OPEN_PIXELS = 2 * 256 * 256
"""So many more may lie over a film with each of its pictures: all of them are sent exactly."""

type NextPicture = tuple[int, FilmWriter]
"""A film's number, and its writer, which has taken its next picture."""


@dataclass(slots=True)
class _Film:
    writer: FilmWriter
    stood: Stood
    ladder: Ladder
    due: float = 0.0
    """When its next picture may be taken."""
    waits: bool = False
    """Whether the screen was drawn on there before that."""


class Playing:
    """Films by their numbers."""

    def __init__(self) -> None:
        self._films: dict[int, _Film] = {}
        self._told: dict[int, list[Area]] = {}

    def begin(self, number: int, area: Area, frame: Frame, now: float) -> NextPicture:
        """Begin a film, anew if there is one of that number: on the same step of the ladder then."""
        before = self._films.get(number)
        ladder, rate = (before.ladder, before.writer.rate) if before else (Ladder(), FIRST_RATE)
        self._films[number] = _Film(FilmWriter(area, rate, ladder.step.scale), Stood(area), ladder)
        self.has_moved(number, frame)
        return self.next(number, frame, now)

    def is_due(self, number: int, now: float) -> bool:
        """Whether the next picture of a film may be taken now, where it was drawn; if not, it waits until then."""
        film = self._films[number]
        film.waits = now < film.due
        return not film.waits

    def waits(self, number: int) -> bool:
        """Whether the next picture of a film waits until it is due."""
        return self._films[number].waits

    @property
    def due_at(self) -> float | None:
        """When the next picture that waits is due."""
        return min((film.due for film in self._films.values() if film.waits), default=None)

    def has_moved(self, number: int, frame: Frame) -> bool:
        """Look at a film: whether it shows another picture, apart from what lies over it."""
        return self._films[number].stood.look(frame, OPEN_PIXELS)

    def over(self, number: int) -> list[Area]:
        """What lies over a film, as of the latest look."""
        return self._films[number].stood.over

    def next(self, number: int, frame: Frame, now: float) -> NextPicture:
        """Take the next picture of a film."""
        film = self._films[number]
        if film.writer.quantiser is not None:
            film.ladder.learn(film.writer.quantiser, film.writer.share, now)
        step = film.ladder.step
        if step.scale != film.writer.scale:
            film.writer = FilmWriter(film.writer.area, film.writer.rate, step.scale)
        film.due = (film.due if now - film.due < step.seconds else now) + step.seconds
        film.writer.take(frame)
        return number, film.writer

    def refresh(self) -> None:
        """Have the next picture of each film need none before it."""
        for film in self._films.values():
            film.writer.refresh()

    def is_of(self, picture: NextPicture) -> bool:
        """Whether it is a picture of a film that plays now, and not of one that has begun anew."""
        film = self._films.get(picture[0])
        return film is not None and film.writer is picture[1]

    def news(self) -> tuple[tuple[int, tuple[Area, ...]], ...]:
        """Films over which something else lies than when this was asked last, and what."""
        told = {number: film.stood.over for number, film in self._films.items()}
        found = tuple((number, tuple(over)) for number, over in told.items() if over != self._told.get(number, []))
        self._told = told
        return found

    def end(self, number: int) -> None:
        """End a film."""
        del self._films[number]

    def end_others(self, numbers: set[int]) -> tuple[int, ...]:
        """End the films that have other numbers; which they are."""
        gone = tuple(self._films.keys() - numbers)
        for number in gone:
            self.end(number)
        return gone

    def clear(self) -> None:
        """Forget them all: the viewer shows none."""
        self._films.clear()
        self._told.clear()
