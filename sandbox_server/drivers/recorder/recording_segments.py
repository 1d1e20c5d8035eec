"""Recordings of the screen on disk, in segments of a minute: the latest are kept as far as they have room, and pinned ones. For one thread.

A segment is named by the milliseconds of the epoch at which it begins and, once it is over, by how many it lasts.
"""

import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox_server.drivers.storage.json_file import JsonFile

MAX_PINS = 200
_NAME = re.compile(r"([0-9]{1,15})(?:-([0-9]{1,9}))?\.mp4")


@dataclass(frozen=True, slots=True)
class RecordingSegment:
    """One file; times are seconds of the epoch."""

    start: float
    end: float
    bytes: int
    path: str
    over: bool
    pinned: bool = False

    @property
    def name(self) -> str:
        """By which it is asked for: the milliseconds at which it begins."""
        return str(round(self.start * 1000))


@dataclass(frozen=True, slots=True)
class Pin:
    """What is not to be removed: all segments between two moments."""

    id: str
    since: float
    until: float
    by: str
    note: str = ""

    def holds(self, segment: RecordingSegment) -> bool:
        """Whether a segment is pinned by it."""
        return segment.start < self.until and segment.end > self.since


class RecordingSegments:
    """The segments below `folder`: at most `max_bytes`, none that ended more than `max_seconds` ago, pinned ones apart."""

    def __init__(self, folder: str, max_bytes: int, max_seconds: float) -> None:
        self._folder = Path(folder)
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds
        self._pins_file = JsonFile(f"{folder}/pins.json")

    def begin(self, at: float) -> tuple[int, str]:
        """Make the file of a new segment: its descriptor, which is the caller's, and its path. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.make_room(time.time())
        path = self._folder / f"{round(at * 1000)}.mp4"
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), str(path)

    def end(self, path: str, seconds: float) -> None:
        """Take a segment for whole."""
        begun = Path(path)
        begun.rename(begun.with_name(f"{begun.stem}-{round(seconds * 1000)}.mp4"))

    def all(self) -> list[RecordingSegment]:
        """All of them, the oldest first."""
        pins = self.pins()
        found = []
        for path in self._folder.glob("*.mp4"):
            segment = _segment(path)
            if segment:
                found.append(
                    segment if not any(pin.holds(segment) for pin in pins) else RecordingSegment(**{**asdict(segment), "pinned": True})
                )
        return sorted(found, key=lambda segment: segment.start)

    def pins(self) -> list[Pin]:
        """What is pinned; nothing where that cannot be read."""
        try:
            return [Pin(**each) for each in self._pins_file.read() or ()]
        except (OSError, TypeError, ValueError):
            return []

    def keep(self, pins: list[Pin]) -> None:
        """Replace what is pinned."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._pins_file.write([asdict(pin) for pin in pins[-MAX_PINS:]])

    @property
    def pin_bytes(self) -> int:
        """How much may be pinned."""
        return self._max_bytes // 2

    def make_room(self, now: float) -> None:
        """Remove what is too old, and the oldest of what is too much."""
        segments = self.all()
        size = sum(segment.bytes for segment in segments)
        for segment in segments:
            if not segment.pinned and (size > self._max_bytes or segment.end < now - self._max_seconds):
                Path(segment.path).unlink(missing_ok=True)
                size -= segment.bytes


def _segment(path: Path) -> RecordingSegment | None:
    named = _NAME.fullmatch(path.name)
    try:
        status = path.stat()
    except FileNotFoundError:  # it is over, and has another name
        return None
    if named is None:
        return None
    start = int(named[1]) / 1000
    end = start + int(named[2]) / 1000 if named[2] else max(start, status.st_mtime)
    return RecordingSegment(start, end, status.st_size, str(path), over=named[2] is not None)
