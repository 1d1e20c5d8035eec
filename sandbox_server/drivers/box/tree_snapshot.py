"""What the uppermost layer held when it was last copied into a checkpoint: names, and the directories that they were in.

A file is unchanged since then if its name is known and its inode's change time is older: nothing in the box can set that
(inode(7), Change timestamp). What a program has mapped to write to is an exception: the kernel notes only the first of its writes.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox_server.drivers.storage import atomic_write

COARSE_NS = 20_000_000
"""By so much a change time may be behind the clock: the kernel takes it from the last tick."""
_STEP_NS = 5_000_000
"""By so much the clock may be set before what it says is not believed."""


@dataclass(slots=True)
class FolderSnapshot:
    """A directory: its inode, whether it hides what is below it, and its entries; None stands for what is no directory."""

    ino: int
    opaque: bool
    entries: "dict[str, FolderSnapshot | None]" = field(default_factory=dict)


@dataclass(frozen=True)
class MappedFiles:
    """Files that a program can write to without the kernel noting each time, by path in the box and by inode."""

    paths: frozenset[str] = frozenset()
    inodes: frozenset[int] = frozenset()

    def __or__(self, other: "MappedFiles") -> "MappedFiles":
        return MappedFiles(self.paths | other.paths, self.inodes | other.inodes)

    def has(self, path: str, inode: int) -> bool:
        """Whether a file is among them."""
        return inode in self.inodes or path in self.paths


@dataclass(frozen=True)
class TreeSnapshot:
    """What is in `checkpoint`; `since` is when its last copy began, in nanoseconds since the epoch, less what the kernel is behind."""

    checkpoint: str
    since: int
    tree: FolderSnapshot
    mapped: MappedFiles
    clock: Mapping[str, Any]

    def save(self, path: str) -> None:
        """Write it down."""
        mapped = {"paths": sorted(self.mapped.paths), "inodes": sorted(self.mapped.inodes)}
        content = {"checkpoint": self.checkpoint, "since": self.since, "tree": _dumps(self.tree), "mapped": mapped, "clock": self.clock}
        atomic_write.replace(path, json.dumps(content))


def load(path: str, checkpoint: str | None) -> TreeSnapshot | None:
    """Read the snapshot of a checkpoint; None where there is none, or the clock was set since: nothing is known then."""
    try:
        content = json.loads(Path(path).read_bytes())
        mapped = MappedFiles(frozenset(content["mapped"]["paths"]), frozenset(content["mapped"]["inodes"]))
        found = TreeSnapshot(content["checkpoint"], content["since"], _loads(content["tree"]), mapped, content["clock"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if found.checkpoint == checkpoint and _is_same(found.clock, clock()) else None


def _dumps(folder: FolderSnapshot) -> list[Any]:
    return [folder.ino, folder.opaque, {name: inner and _dumps(inner) for name, inner in folder.entries.items()}]


def _loads(content: Any) -> FolderSnapshot:
    ino, opaque, entries = content
    return FolderSnapshot(ino, opaque, {name: inner and _loads(inner) for name, inner in entries.items()})


def clock(boot_id: str = "/proc/sys/kernel/random/boot_id") -> dict[str, Any]:
    """What tells later whether the clock was set: this start of the machine, and the time at which it began."""
    return {"boot": _read(boot_id), "began": time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)}


def _read(path: str) -> str:
    try:
        return Path(path).read_text("ascii").strip()
    except OSError:
        return os.uname().release


def _is_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return bool(before["boot"] == now["boot"] and abs(before["began"] - now["began"]) < _STEP_NS)
