"""What a folder keeps outside of the box: the version that it last agreed on, what waits for the store, and drafts."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox_server.drivers.folders.version import DamagedError, FileRecord, Version, decode
from sandbox_server.drivers.storage import atomic_write

PIECE = 1 << 20
MOST = 1 << 50
"""No limit: what is read was within the limits of the settings when it was written."""


@dataclass(frozen=True, slots=True)
class FolderLimits:
    """The largest folder."""

    max_files: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class WaitingFiles:
    """What was in the folder when the store was away, and the version on which it stood."""

    base: Version
    kept: Version
    root: str
    """Directory with the content of each file by its digest."""


class FolderPlaces:
    """The directories of one folder below `root`. `store` is the address of its store: what was agreed on with another does not count."""

    def __init__(self, root: str, name: str, store: str, limits: FolderLimits) -> None:
        self.limits = limits
        self._store = store
        self._base = Path(root, "base", f"{name}.json")
        self._waiting = Path(root, "waiting", name)
        self._drafts = Path(root, "drafts", name)

    def read_base(self) -> Version:
        """Return the version that was last agreed on; an empty one if there is none."""
        return self._read(self._base)

    def write_base(self, version: Version) -> None:
        """Replace it."""
        self._write(self._base, version)

    @contextmanager
    def drafts(self) -> Iterator[str]:
        """Make a directory for files on their way, which is removed with them."""
        self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=self._drafts) as folder:
            yield folder

    def forget_drafts(self) -> None:
        """Remove what a process that was killed has left."""
        shutil.rmtree(self._drafts, ignore_errors=True)

    def read_waiting(self) -> WaitingFiles | None:
        """Return what waits for the store; None if nothing does. What was not written whole does not count."""
        base, kept = self._waiting / "base.json", self._waiting / "kept.json"
        return WaitingFiles(self._read(base), self._read(kept), str(self._waiting)) if kept.exists() else None

    def begin_waiting(self) -> str:
        """Make the directory for the files that are to wait, by their digests, and return it."""
        self._waiting.mkdir(parents=True, exist_ok=True, mode=0o700)
        return str(self._waiting)

    def end_waiting(self, base: Version, kept: Version) -> None:
        """Say that all of them are there; last of all, so that nothing counts by half."""
        self._write(self._waiting / "base.json", base)
        self._write(self._waiting / "kept.json", kept)

    def forget_waiting(self) -> None:
        """Remove what waited, once the store has it."""
        (self._waiting / "kept.json").unlink(missing_ok=True)
        shutil.rmtree(self._waiting, ignore_errors=True)

    def _read(self, path: Path) -> Version:
        try:
            told: Any = json.loads(path.read_text("utf-8"))
            version = decode(json.dumps(told["version"]).encode(), told["version"]["number"], max_files=MOST, max_bytes=MOST)
            return version if told["store"] == self._store else Version(0, version.files)
        except (OSError, ValueError, KeyError, TypeError):
            return Version()

    def _write(self, path: Path, version: Version) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        told = {"store": self._store, "version": json.loads(version.encode())}
        atomic_write.replace(path, json.dumps(told), durable=True)


def check_file(path: str, record: FileRecord) -> None:
    """Raise DamagedError unless a file has the size and the digest that its record says."""
    found, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            found.update(piece)
            size += len(piece)
    if (size, found.hexdigest()) != (record.size, record.digest):
        os.unlink(path)
        raise DamagedError(f"the store gave other content than it says for {record.digest[:12]}")
