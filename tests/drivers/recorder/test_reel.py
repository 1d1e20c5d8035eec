"""Films on disk."""

import os
from pathlib import Path

from sandbox_server.drivers.recorder.reel import Pin, Reel

NOW = 2_000_000_000.0


def film(reel: Reel, start: float, seconds: float, size: int) -> str:
    fd, path = reel.begin(start)
    os.write(fd, b"x" * size)
    os.close(fd)
    reel.end(path, seconds)
    return path


def test_films_are_listed_with_when_they_begin_and_end(tmp_path: Path) -> None:
    reel = Reel(str(tmp_path), 1 << 20, 1e12)
    film(reel, NOW, 30.5, 10)
    fd, path = reel.begin(NOW + 60)
    os.utime(path, (NOW + 70, NOW + 70))
    os.close(fd)
    (tmp_path / "other.txt").touch()

    first, second = reel.films()
    assert (first.start, first.end, first.bytes, first.over, first.name) == (NOW, NOW + 30.5, 10, True, "2000000000000")
    assert (second.start, second.end, second.over) == (NOW + 60, NOW + 70, False), "one that was cut off ends when it was written last"


def test_the_oldest_make_room_and_what_is_pinned_stays(tmp_path: Path) -> None:
    reel = Reel(str(tmp_path), 2500, 1e12)
    for number in range(4):
        film(reel, NOW + 60 * number, 60, 1000)
    reel.keep([Pin("p", NOW + 70, NOW + 80, "ann")])
    reel.make_room(NOW)
    assert [(each.start - NOW, each.pinned) for each in reel.films()] == [(60, True), (180, False)]


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    reel = Reel(str(tmp_path), 1 << 20, 100)
    film(reel, NOW, 60, 10)
    film(reel, NOW + 60, 60, 10)
    reel.make_room(NOW + 200)
    assert [each.start for each in reel.films()] == [NOW + 60]


def test_pins_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    (tmp_path / "pins.json").write_text("[{]")
    reel = Reel(str(tmp_path), 1 << 20, 100)
    assert reel.pins() == []
    reel.keep([Pin("p", 1, 2, "ann", "why")])
    assert Reel(str(tmp_path), 1 << 20, 100).pins() == [Pin("p", 1, 2, "ann", "why")]
    assert reel.pin_bytes == 1 << 19
