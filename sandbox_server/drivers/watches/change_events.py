"""The events of a watch, and the coalescing of bursts."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sandbox_server.drivers.files.name_encoding import to_wire

MAX_PENDING = 20_000
"""Limit of changes in one window. More are reported as an overflow."""

type Kind = Literal["create", "write", "remove", "rename", "chmod", "overflow", "lost", "restored"]

_MERGED: dict[tuple[Kind, Kind], Kind] = {
    ("create", "create"): "create",
    ("create", "write"): "create",
    ("create", "chmod"): "create",
    ("write", "write"): "write",
    ("write", "chmod"): "write",
    ("chmod", "write"): "write",
    ("chmod", "chmod"): "chmod",
    ("overflow", "overflow"): "overflow",
}


@dataclass(slots=True)
class FileChange:
    """A change of `path`. A removal becomes a rename when its other half is found."""

    kind: Kind
    path: str
    is_dir: bool = False
    old_path: str | None = None
    reason: str | None = None
    happened: float = 0.0
    """Seconds since the epoch."""

    def describe(self, root: str) -> dict[str, Any]:
        """Return the event in the contract's form, with the current status of the file."""
        answer = {
            "type": self.kind,
            "path": to_wire(self.path),
            "relative_path": to_wire(os.path.relpath(self.path, root)),
            "old_path": None if self.old_path is None else to_wire(self.old_path),
            "is_dir": self.is_dir,
            "timestamp": self.happened,
            "mtime": None,
            "size": None,
            "inode": None,
        }
        if self.reason:
            answer["reason"] = self.reason
        if self.kind not in ("remove", "lost"):
            _add_status(answer, self.path)
        return answer


def _add_status(answer: dict[str, Any], path: str) -> None:
    try:
        status = os.lstat(path)
    except OSError:
        return
    answer |= {"mtime": status.st_mtime, "size": status.st_size, "inode": status.st_ino}


class CoalescingWindow:
    """Collects changes for `seconds` from the first one, and merges repeated changes of one path."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._changes: list[FileChange] = []
        self._latest: dict[str, FileChange] = {}
        self._opened: float | None = None
        self._overflowed = False

    @property
    def wait(self) -> float | None:
        """Return the seconds until changes can be taken; None while nothing is pending."""
        return None if self._opened is None else max(0.0, self._opened + self._seconds - self._clock())

    def add(self, change: FileChange) -> None:
        """Add one change."""
        if self._opened is None:
            self._opened = self._clock()
        change.happened = time.time()
        before = self._latest.get(change.path)
        if before is not None and (kind := _MERGED.get((before.kind, change.kind))):
            before.kind = kind
            return
        if len(self._changes) >= MAX_PENDING:
            self._overflowed = True
            return
        self._changes.append(change)
        self._latest[change.path] = change

    def take(self) -> list[FileChange]:
        """Return the collected changes in order, and begin anew."""
        changes, overflowed = self._changes, self._overflowed
        self._changes, self._latest, self._opened, self._overflowed = [], {}, None, False
        if overflowed:
            changes.append(FileChange("overflow", changes[-1].path, reason="too many changes at once", happened=time.time()))
        return changes
