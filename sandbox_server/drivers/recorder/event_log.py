"""The log on disk: files of lines in a chain (`chain`), the oldest removed where they take more than they may. For one thread.

A file begins with an entry of the kind `log`, which names the hash of the last line before it. Lines are handed to the kernel at once, so
that no crash of a process of ours loses one; `sync` sees to the disk.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sandbox_server.drivers.recorder.hash_chain import BEFORE_ALL, Broken, follow, hash_of, link

FILE_BYTES = 4 << 20
"""A file is closed once it is as large."""
MAX_FIRST = 4096
"""Bytes of the first line of a file, which is of the log's own."""
ACTORS = ("agent", "person", "system")
_SUFFIX = ".jsonl"

type Entry = dict[str, Any]
type EntryFilter = Callable[[Entry], bool]


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """Whether the chain holds."""

    entries: int
    first: int | None
    """Number of the first entry that is kept; those before were removed to make room."""
    head: str
    """Hash of the last entry: whoever noted an earlier one can see that it is still there."""
    broken: str | None
    """Where and why it does not hold; None where it does."""


class EventLog:
    """Entries below `folder`, which take `max_bytes` at most."""

    def __init__(self, folder: str, max_bytes: int, file_bytes: int = FILE_BYTES) -> None:
        self._folder = Path(folder)
        self._max_bytes = max_bytes
        self._file_bytes = min(file_bytes, max(1, max_bytes // 4))
        self._fd = -1
        self._size = 0
        self._unsynced = False
        self.head = BEFORE_ALL
        self.last = 0
        """Number of the last entry."""

    def open(self) -> int:
        """Go on where an earlier process ended; how many bytes of a line that was cut short were removed."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        torn = 0
        for path in reversed(self._files()):
            torn += _mend(path)
            if lines := _lines(path):
                self.head, self.last = _end_of(lines, int(path.stem))
                break
            path.unlink()
        return torn

    def close(self) -> None:
        """Let go of the file, with all of it on disk."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)
            self._fd = -1

    def append(self, entries: Sequence[Entry]) -> list[Entry]:
        """Write entries in this order, and give them with their numbers and hashes. Raises OSError; then none of them counts."""
        if self._fd < 0 or self._size >= self._file_bytes:
            self._begin(entries[0]["at"])
        head, last = self.head, self.last
        lines, written = bytearray(), []
        for entry in entries:
            last += 1
            numbered = {"n": last, **entry}
            line, head = link(numbered, head)
            lines += line
            written.append({"hash": head, **numbered})
        self._write(bytes(lines))
        self.head, self.last = head, last
        return written

    def sync(self) -> None:
        """Have the disk keep what was written."""
        if self._fd >= 0 and self._unsynced:
            os.fdatasync(self._fd)
            self._unsynced = False

    def read(self, after: int, match: EntryFilter, limit: int) -> list[Entry]:
        """The first entries with a number above `after` that match."""
        found: list[Entry] = []
        for path in self._from(after):
            for line in _lines(path):
                entry = entry_of(line)
                if entry and entry["n"] > after and match(entry):
                    found.append(entry)
                    if len(found) == limit:
                        return found
        return found

    def latest(self, match: EntryFilter, limit: int, before: int | None = None, until: float | None = None) -> list[Entry]:
        """The last entries that match, with a number below `before`; the oldest of them first.

        Files that begin at `until` or later are not read: a filter by time is to pass it on.
        """
        found: list[Entry] = []
        for path in reversed(self._files()):
            if (before is not None and int(path.stem) >= before) or (until is not None and _begins_at(path) >= until):
                continue
            for line in reversed(_lines(path)):
                entry = entry_of(line)
                if entry and (before is None or entry["n"] < before) and match(entry):
                    found.append(entry)
                    if len(found) == limit:
                        return found[::-1]
        return found[::-1]

    def verify(self) -> ChainVerdict:
        """Check every line that is kept."""
        entries, first, prev = 0, None, None
        for path in self._files():
            lines = _lines(path)
            named = _prev_of(lines)
            if named is None or prev not in (None, named):
                return ChainVerdict(entries, first, self.head, f"{path.name}: what came before it is missing")
            prev, first = named, first or int(path.stem)
            for found in follow(lines, prev):
                if isinstance(found, Broken):
                    return ChainVerdict(entries, first, self.head, f"{path.name}, line {found.line}: {found.reason}")
                prev, entries = found, entries + 1
        whole = prev in (None, self.head) and (prev is not None or self.last == 0)
        return ChainVerdict(entries, first, self.head, None if whole else "the last entries are missing")

    def files(self) -> list[str]:
        """The files, the oldest first."""
        return [str(path) for path in self._files()]

    def _write(self, content: bytes) -> None:
        start = self._size
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, start)
            raise
        self._size, self._unsynced = start + len(content), True

    def _begin(self, at: float) -> None:
        """Begin a file."""
        self.close()
        self._make_room()
        entry = {
            "n": self.last + 1,
            "at": at,
            "kind": "log",
            "actor": {"type": "system", "name": "recorder"},
            "event": "file",
            "prev": self.head,
        }
        line, head = link(entry, self.head)
        path = self._folder / f"{self.last + 1:012d}{_SUFFIX}"
        self._fd, self._size = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600), 0
        self._write(line)
        self.head, self.last = head, self.last + 1

    def _make_room(self) -> None:
        files = self._files()
        size = sum(path.stat().st_size for path in files) + self._file_bytes
        for path in files:
            if size <= self._max_bytes:
                return
            size -= path.stat().st_size
            path.unlink()

    def _files(self) -> list[Path]:
        return sorted(path for path in self._folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal())

    def _from(self, after: int) -> Iterator[Path]:
        """The files that may hold entries with a number above `after`."""
        files = self._files()
        starts = [int(path.stem) for path in files] + [self.last + 1]
        return (path for path, end in zip(files, starts[1:], strict=True) if end > after + 1)


def entry_of(line: bytes) -> Entry | None:
    """The entry of a line; None for a line that is not one: somebody changed it, and `verify` says so."""
    try:
        entry = orjson.loads(line)
        actor = entry["actor"]
        sound = isinstance(entry["n"], int) and isinstance(entry["at"], int | float) and isinstance(entry["hash"], str)
        sound = sound and isinstance(entry["kind"], str) and isinstance(actor["name"], str) and actor["type"] in ACTORS
    except (ValueError, KeyError, TypeError):
        return None
    return entry if sound else None


def _begins_at(path: Path) -> float:
    """When the first entry of a file was written; 0 where that cannot be told."""
    try:
        with path.open("rb") as file:
            first = entry_of(file.readline(MAX_FIRST))
    except FileNotFoundError:
        return 0.0
    return float(first["at"]) if first else 0.0


def _lines(path: Path) -> list[bytes]:
    """The whole lines of a file; nothing where it was removed meanwhile."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    return content[: content.rfind(b"\n") + 1].splitlines()


def _mend(path: Path) -> int:
    """Remove a line that was cut short at the end of a file; its bytes."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    return len(content) - whole


def _end_of(lines: list[bytes], first: int) -> tuple[str, int]:
    """Hash and number of the last entry; where somebody has changed it, the chain begins anew, and does not hold any more."""
    try:
        return hash_of(lines[-1]), int(orjson.loads(lines[-1])["n"])
    except (ValueError, KeyError, TypeError):
        return BEFORE_ALL, first + len(lines) - 1


def _prev_of(lines: list[bytes]) -> str | None:
    try:
        return str(orjson.loads(lines[0])["prev"]) if lines else None
    except (ValueError, KeyError, TypeError):
        return None
