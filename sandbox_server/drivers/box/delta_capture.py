"""Copies what changed in the uppermost layer of a box that runs into a draft of a layer, in rounds.

The first round copies what changed since the last checkpoint, each further one what changed since the round before. Programs may go on
during all rounds but the last. The draft stands on the last checkpoint: a name that has gone since is marked as deleted, and a directory
that took the place of another hides that one. Where nothing is known of the last checkpoint, everything is copied, and the draft stands
on what the box is mounted on.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from sandbox_server.drivers.box import resolve_beneath
from sandbox_server.drivers.box.entry_copy import CopyBudget, copy_entry, dress, finish
from sandbox_server.drivers.box.layer_diff import MAX_LEVELS
from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.resolve_beneath import OPAQUE
from sandbox_server.drivers.box.tree_snapshot import FolderSnapshot, MappedFiles

_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class _Target:
    """A directory of the draft, made when something is to be put into it. `source` is the one that it stands for."""

    def __init__(self, parent: "_Target | None", name: str, source: int, fd: int | None = None) -> None:
        self._parent = parent
        self._name = name
        self._source = source
        self._fd = fd

    def open(self, *, opaque: bool = False) -> int:
        """Have it, and every directory on the way."""
        if self._fd is None:
            place = self._parent.open() if self._parent else -1
            with suppress(FileExistsError):
                os.mkdir(self._name, 0o700, dir_fd=place)
            self._fd = os.open(self._name, resolve_beneath.DIRECTORY, dir_fd=place)
            dress(self._fd, self._source, os.fstat(self._source))
        if opaque:
            os.setxattr(self._fd, OPAQUE, b"y")
        return self._fd

    def close(self) -> None:
        """Finish it, where it was needed."""
        if self._fd is not None:
            finish(self._fd, os.fstat(self._source))
            os.close(self._fd)
            self._fd = None


@dataclass(frozen=True)
class _Visit:
    """One directory: what it was at the round before, and what it was at the last checkpoint."""

    source: int
    target: _Target
    path: str
    before: FolderSnapshot | None
    reference: FolderSnapshot | None
    since: int

    @property
    def level(self) -> int:
        return self.path.count("/")


class DeltaCapture:
    """Copies from the directory `source` into the directory `draft`, both open; `reference` is the tree of the last checkpoint.

    `since` is when that was made; `discard` takes a name of the draft away with all that is in it.
    """

    def __init__(
        self, source: int, draft: int, reference: FolderSnapshot | None, since: int, budget: CopyBudget, discard: Callable[[int, str], None]
    ) -> None:
        self._source = source
        self._draft = draft
        self._reference = reference
        self._first_since = since
        self._budget = budget
        self._discard = discard
        self._again = False
        self._mapped = MappedFiles()
        self._links: dict[int, str] = {}
        self.tree: FolderSnapshot | None = reference
        """What the draft was last brought up to."""
        self.changes = 0
        """Names that were found added, changed or gone, in all rounds."""

    def run_round(self, since: int, mapped: MappedFiles, deadline: float = float("inf")) -> None:
        """Bring the draft up to what the source is now: copy what changed at `since` or later, or is among `mapped`.

        Raises StoreError where that takes until `deadline`, by the monotonic clock.
        """
        self._mapped, self._budget.deadline, self._links = mapped, deadline, {}
        status = os.fstat(self._source)
        root = _Target(None, "", self._source, os.dup(self._draft))
        dress(root.open(), self._source, status)
        try:
            self.tree = self._visit(_Visit(self._source, root, "", self.tree, self._reference, since), status.st_ino, opaque=False)
        finally:
            root.close()
        self._again = True

    def _visit(self, visit: _Visit, ino: int, *, opaque: bool) -> FolderSnapshot:
        found, folders = FolderSnapshot(ino, opaque), []
        with os.scandir(visit.source) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif self._keep(visit, entry):
                    found.entries[entry.name] = None
        self._budget.check_time()
        for name in folders:
            if (inner := self._enter(visit, name)) is not None:
                found.entries[name] = inner
        if visit.before and len(visit.before.entries.keys() & found.entries.keys()) < len(visit.before.entries):
            for name in visit.before.entries.keys() - found.entries.keys():
                self._delete(visit, name)
        return found

    def _keep(self, visit: _Visit, entry: "os.DirEntry[str]") -> bool:
        """Have what is no directory in the draft where it changed; tells whether it is still there."""
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return False
        known = visit.before is not None and visit.before.entries.get(entry.name, visit.before) is None
        if known and status.st_ctime_ns < visit.since and not self._mapped.has(f"{visit.path}/{entry.name}", status.st_ino):
            return True
        self._budget.check_time()
        return self._copy(visit, entry.name, status)

    def _copy(self, visit: _Visit, name: str, status: os.stat_result) -> bool:
        self.changes += 1
        place = visit.target.open()
        if self._again:
            self._discard(place, name)
        if status.st_nlink > 1 and (first := self._links.get(status.st_ino)):
            self._link(first, place, name)
            return True
        copied = copy_entry(visit.source, name, place, self._budget)
        if copied and copied.st_nlink > 1:
            self._links[copied.st_ino] = f"{visit.path}/{name}"
        return copied is not None

    def _link(self, first: str, place: int, name: str) -> None:
        folder, linked = os.path.split(first)
        other = resolve_beneath.open_directory(self._draft, folder)
        try:
            os.link(linked, name, src_dir_fd=other, dst_dir_fd=place, follow_symlinks=False)
        finally:
            os.close(other)

    def _enter(self, visit: _Visit, name: str) -> FolderSnapshot | None:
        if visit.level >= MAX_LEVELS:
            raise StoreError("conflict", f'directories are more than {MAX_LEVELS} deep, and only mode "stop" keeps those')
        try:
            source = os.open(name, resolve_beneath.DIRECTORY, dir_fd=visit.source)
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise
        try:
            return self._enter_open(visit, name, source)
        finally:
            os.close(source)

    def _enter_open(self, visit: _Visit, name: str, source: int) -> FolderSnapshot:
        status = os.fstat(source)
        before, reference = (known.entries.get(name) if known else None for known in (visit.before, visit.reference))
        changed = before is None or status.st_ctime_ns >= visit.since
        opaque = resolve_beneath.is_opaque(source) if changed or before is None else before.opaque
        before, reference = (one if one and _is_same(one, status.st_ino, opaque) else None for one in (before, reference))
        target = _Target(visit.target, name, source)
        since = visit.since
        if before is None:
            self.changes += 1
            self._budget.take(0)
            if self._again:
                self._discard(visit.target.open(), name)
            took_place = visit.reference is not None and name in visit.reference.entries
            target.open(opaque=reference is None and (opaque or took_place))
            before, since = reference, self._first_since
        elif changed:
            self.changes += 1
            target.open()
        try:
            inner = _Visit(source, target, f"{visit.path}/{name}", before, reference, since)
            return self._visit(inner, status.st_ino, opaque=opaque)
        finally:
            target.close()

    def _delete(self, visit: _Visit, name: str) -> None:
        """Have a name deleted in the draft that has gone since the round before."""
        self.changes += 1
        place = visit.target.open()
        if self._again:
            self._discard(place, name)
        if visit.reference is not None and name in visit.reference.entries:
            os.mknod(name, stat.S_IFCHR, 0, dir_fd=place)


def _is_same(folder: FolderSnapshot, ino: int, opaque: bool) -> bool:
    """Whether a directory is the one that was there: one that hides more than that did may be another with its number."""
    return folder.ino == ino and (folder.opaque or not opaque)
