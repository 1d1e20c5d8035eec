"""Directory walks in the file worker, within limits: listing and matching."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sandbox_server.drivers.files.content import describe
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.name_encoding import to_wire
from sandbox_server.drivers.files.worker_errors import FileRefused, require_directory
from sandbox_server.patterns import Pattern, glob

MAX_VISITED = 2_000_000
"""Limit of entries that one walk visits. A larger tree is reported as truncated."""
MAX_KEPT = 100_000
"""Limit of entries that one walk keeps for sorting."""
MAX_GLOBS = 256
"""Limit of globs of one walk."""


@dataclass(slots=True)
class Walk:
    """Walks a tree in the order of names, parents first. Symlinks are not followed, so a loop cannot trap it."""

    root: str
    depth: int | None
    hidden: bool
    excluded: Callable[[str], bool]
    deadline: float
    visited: int = 0
    unreadable: int = 0
    truncated: bool = False
    _below: list[tuple[str, int]] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[os.DirEntry[str], str]]:
        """Yield every entry with its path relative to the root."""
        require_directory(self.root)
        yield from self._entries("", 1, must_read=True)
        while self._below and not self.truncated:
            relative, level = self._below.pop()
            yield from self._entries(relative, level)

    def _entries(self, relative: str, level: int, *, must_read: bool = False) -> Iterator[tuple[os.DirEntry[str], str]]:
        try:
            with os.scandir(os.path.join(self.root, relative)) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            if must_read:
                raise
            self.unreadable += 1
            return
        descend = []
        for entry in entries:
            path = os.path.join(relative, entry.name)
            if (not self.hidden and entry.name.startswith(".")) or self.excluded(path):
                continue
            self.visited += 1
            if self.visited > MAX_VISITED or time.monotonic() > self.deadline:
                self.truncated = True
                return
            yield entry, path
            if (self.depth is None or level < self.depth) and entry.is_dir(follow_symlinks=False):
                descend.append((path, level + 1))
        self._below += reversed(descend)


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a test whether a relative path matches one of the globs.

    A glob without a slash is matched with the name, others with the whole path. Raises FileRefused.
    """
    if len(patterns) > MAX_GLOBS:
        raise FileRefused("invalid_target", f"there may be {MAX_GLOBS} globs")
    paths = [_glob(each, paths=True) for each in patterns if "/" in each]
    names = [_glob(each) for each in patterns if "/" not in each]

    def fits(path: str) -> bool:
        name = os.path.basename(path)
        return any(each.fullmatch(name) for each in names) or any(each.fullmatch(path) for each in paths)

    return fits


def _glob(text: str, *, paths: bool = False) -> Pattern[str]:
    try:
        return glob(text, paths=paths)
    except ValueError as error:
        raise FileRefused("invalid_target", f"this glob cannot be used: {error}") from None


@dataclass(frozen=True, slots=True)
class WalkResult:
    """One entry, in a compact form until it is known whether it is returned."""

    path: str
    directory: bool
    link: bool
    status: os.stat_result | None

    @property
    def size(self) -> int:
        return self.status.st_size if self.status else 0

    @property
    def modified(self) -> int:
        return self.status.st_mtime_ns if self.status else 0

    def describe(self) -> dict[str, Any]:
        """Return plain values; without a status if the entry vanished during the listing."""
        shown = {"path": to_wire(self.path), "directory": self.directory, "link": self.link}
        return shown | describe(self.status) if self.status else shown


def walk(request: WorkerFrame) -> WorkerFrame:
    """List a directory.

    `pattern` is a glob for the relative path, `named` one for the name, `suffixes` the allowed endings of files;
    `kinds` is `all` or `files`. Sorted by `sort`; entries from `offset`, at most `limit`. After `seconds` it returns
    what it has.
    """
    header = request.header
    search = Walk(
        header["path"],
        _depth(header),
        header.get("hidden", True),
        matcher(header.get("exclude") or ()),
        time.monotonic() + header["seconds"],
    )
    wanted = _entry_filter(header)
    kept: list[WalkResult] = []
    total = directories = 0
    for entry, relative in search:
        if wanted(entry, relative):
            total += 1
            directories += leads_to_directory(entry)
            if len(kept) < MAX_KEPT:
                kept.append(_walk_result(entry, relative, with_status=header.get("status", True)))
    kept.sort(key=_SORTS[header.get("sort", "path")], reverse=header.get("descending", False))
    first = header.get("offset", 0)
    answer = {
        "entries": [found.describe() for found in kept[first : first + header["limit"]]],
        "total": total,
        "directories": directories,
        "unreadable": search.unreadable,
        "incomplete": search.truncated or total > len(kept),
    }
    return WorkerFrame(answer)


def _depth(header: dict[str, Any]) -> int | None:
    """Return the depth limit: a pattern without `**` needs no more levels than it has parts."""
    pattern: str | None = header.get("pattern")
    return header.get("depth") if pattern is None or "**" in pattern else pattern.count("/") + 1


def _entry_filter(header: dict[str, Any]) -> Callable[[os.DirEntry[str], str], bool]:
    tests: list[Callable[[os.DirEntry[str], str], bool]] = []
    if header.get("kinds") == "files":
        tests.append(lambda entry, _: not leads_to_directory(entry))
    if pattern := header.get("pattern"):
        whole = _glob(pattern, paths=True)  # hidden entries that are not wanted are not walked
        tests.append(lambda _, relative: whole.fullmatch(relative) is not None)
    if named := header.get("named"):
        name = _glob(named)
        tests.append(lambda entry, _: name.fullmatch(entry.name) is not None)
    if suffixes := header.get("suffixes"):
        tests.append(lambda entry, _: not leads_to_directory(entry) and entry.name.endswith(tuple(suffixes)))
    return lambda entry, relative: all(test(entry, relative) for test in tests)


def leads_to_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory, or a symlink to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _walk_result(entry: os.DirEntry[str], relative: str, *, with_status: bool) -> WalkResult:
    status = None
    if with_status:
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
    return WalkResult(relative, leads_to_directory(entry), entry.is_symlink(), status)


_SORTS: dict[str, Callable[[WalkResult], Any]] = {
    "path": lambda found: found.path.split("/"),
    "name": lambda found: (os.path.basename(found.path), found.path),
    "size": lambda found: (found.size, found.path),
    "modified": lambda found: (found.modified, found.path),
    "type": lambda found: (not found.directory, os.path.splitext(found.path)[1], found.path),
}

OPERATIONS = {"walk": walk}
