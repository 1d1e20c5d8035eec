"""Films on disk."""

import os
from pathlib import Path

from sandbox_server.drivers.recorder.recording_segments import Pin, RecordingSegments

NOW = 2_000_000_000.0


def segment(segments: RecordingSegments, start: float, seconds: float, size: int) -> str:
    fd, path = segments.begin(start)
    os.write(fd, b"x" * size)
    os.close(fd)
    segments.end(path, seconds)
    return path


def test_films_are_listed_with_when_they_begin_and_end(tmp_path: Path) -> None:
    segments = RecordingSegments(str(tmp_path), 1 << 20, 1e12)
    segment(segments, NOW, 30.5, 10)
    fd, path = segments.begin(NOW + 60)
    os.utime(path, (NOW + 70, NOW + 70))
    os.close(fd)
    (tmp_path / "other.txt").touch()

    first, second = segments.all()
    assert (first.start, first.end, first.bytes, first.over, first.name) == (NOW, NOW + 30.5, 10, True, "2000000000000")
    assert (second.start, second.end, second.over) == (NOW + 60, NOW + 70, False), "one that was cut off ends when it was written last"


def test_the_oldest_make_room_and_what_is_pinned_stays(tmp_path: Path) -> None:
    segments = RecordingSegments(str(tmp_path), 2500, 1e12)
    for number in range(4):
        segment(segments, NOW + 60 * number, 60, 1000)
    segments.keep([Pin("p", NOW + 70, NOW + 80, "ann")])
    segments.make_room(NOW)
    assert [(each.start - NOW, each.pinned) for each in segments.all()] == [(60, True), (180, False)]


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    segments = RecordingSegments(str(tmp_path), 1 << 20, 100)
    segment(segments, NOW, 60, 10)
    segment(segments, NOW + 60, 60, 10)
    segments.make_room(NOW + 200)
    assert [each.start for each in segments.all()] == [NOW + 60]


def test_pins_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    (tmp_path / "pins.json").write_text("[{]")
    segments = RecordingSegments(str(tmp_path), 1 << 20, 100)
    assert segments.pins() == []
    segments.keep([Pin("p", 1, 2, "ann", "why")])
    assert RecordingSegments(str(tmp_path), 1 << 20, 100).pins() == [Pin("p", 1, 2, "ann", "why")]
    assert segments.pin_bytes == 1 << 19
