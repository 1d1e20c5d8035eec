"""Watches of a directory tree or of one path, in a file worker."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from sandbox_server.drivers.files.staged_writes import STAGING_PREFIX
from sandbox_server.drivers.files.tree_walk import matcher
from sandbox_server.drivers.watches.change_events import CoalescingWindow, FileChange, Kind
from sandbox_server.drivers.watches.inotify import Inotify, Mask, RawEvent
from sandbox_server.drivers.watches.path_watch import WatchedPath

MAX_DIRECTORIES = 20_000
"""Limit of directories of one watch. More are reported as an overflow."""

_CONTENT = Mask.MODIFY | Mask.ATTRIB | Mask.CREATE | Mask.DELETE | Mask.MOVED_FROM | Mask.MOVED_TO | Mask.EXCL_UNLINK
_DIRECTORY = _CONTENT | Mask.ONLYDIR | Mask.MASK_ADD
_KINDS: dict[Mask, Kind] = {Mask.CREATE: "create", Mask.MODIFY: "write", Mask.DELETE: "remove", Mask.ATTRIB: "chmod"}
_STAGED = ""


class TreeWatch:
    """Watches a directory, with `recursive` the whole tree. Excluded paths are neither watched nor reported."""

    def __init__(self, path: str, window: CoalescingWindow, *, recursive: bool, exclude: Sequence[str], include: Sequence[str]) -> None:
        self.root = path
        self._excluded = matcher(exclude)
        self._included: Callable[[str], bool] = matcher(include) if include else lambda _: True
        self.inotify = Inotify()
        self._window = window
        self._recursive = recursive
        self._where = WatchedPath(path, self.inotify)
        self._directories: dict[int, str] = {}
        self._moving: dict[int, FileChange] = {}
        self._announced: set[str] = set()
        """What was found by listing, for which the kernel may still send an event."""

    def open(self) -> None:
        """Begin. If the path does not exist, wait for it.

        Raises OSError if the path is not a readable directory, or no watches are left.
        """
        self._where.refresh()
        if self._where.identity is None:
            return
        self._add(self.root, follow=True)
        if self._recursive:
            for path in self._below(self.root):
                self._add(path)

    def read(self) -> None:
        """Read the kernel's events."""
        for event in self.inotify.read():
            if event.mask & Mask.Q_OVERFLOW:
                self._resync()
            elif event.mask & Mask.IGNORED:
                self._ended(event.watch)
            elif event.watch in self._directories:
                self._take(event, os.path.join(self._directories[event.watch], event.name))
            if self._where.concerns(event):
                self._look_again()
        if not self.inotify.pending:
            self._announced.clear()

    def take(self) -> list[FileChange]:
        """Return the changes of the window that has passed."""
        for change in self._moving.values():
            if change.kind == "remove" and change.is_dir:  # it left the tree
                self._forget(change.path)
        self._moving.clear()
        return self._window.take()

    def _ended(self, watch: int) -> None:
        """Handle the end of a watch: its directory is gone. A new one may exist, even with the same inode number."""
        if self._directories.pop(watch, None) == self.root:
            self._lost()
            self._where.identity = None
            self._look_again()

    def _take(self, event: RawEvent, path: str) -> None:
        is_dir = bool(event.mask & Mask.ISDIR)
        if event.mask & Mask.MOVED_FROM:
            self._moved_from(event, FileChange("remove", path, is_dir))
        elif event.mask & Mask.MOVED_TO:
            self._moved_to(event, path, is_dir)
        elif not self._ignored(path):
            kind = next((kind for bit, kind in _KINDS.items() if event.mask & bit), None)
            if kind == "create" and path in self._announced:
                self._announced.discard(path)
            elif kind and event.name and not _is_nameless(path):
                self._announced.discard(path)
                self._report(FileChange(kind, path, is_dir))
                if kind == "create" and is_dir:
                    self._arrived(path)

    def _moved_from(self, event: RawEvent, change: FileChange) -> None:
        if os.path.basename(change.path).startswith(STAGING_PREFIX):
            self._moving[event.cookie] = FileChange("write", _STAGED)
        elif not self._ignored(change.path):
            self._moving[event.cookie] = change
            self._report(change)

    def _moved_to(self, event: RawEvent, path: str, is_dir: bool) -> None:
        other = self._moving.pop(event.cookie, None)
        if self._ignored(path):
            return
        if other is None or other.path == _STAGED:
            self._report(FileChange("create" if other is None or is_dir else "write", path, is_dir))
            if is_dir:
                self._arrived(path)
            return
        old = other.path
        if self._included(self._relative(old)):  # it is in the window already: update it
            other.kind, other.path, other.old_path = "rename", path, old
        else:
            self._report(FileChange("rename", path, is_dir, old))
        if is_dir:
            self._renamed(old, path)

    def _renamed(self, old: str, new: str) -> None:
        for watch, path in self._directories.items():
            if path == old or path.startswith(f"{old}/"):
                self._directories[watch] = new + path[len(old) :]

    def _arrived(self, top: str) -> None:
        """Watch a new directory, and report what it contains already."""
        pending = [top] if self._recursive else []
        while pending:
            path = pending.pop()
            self._try_add(path)
            pending += self._announce(path)

    def _contents(self, path: str) -> list[tuple[str, bool]]:
        try:
            with os.scandir(path) as entries:
                found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            return []
        return [(inner, is_dir) for inner, is_dir in found if not self._ignored(inner)]

    def _below(self, top: str) -> Iterator[str]:
        pending = [top]
        while pending:
            inner = [path for path, is_dir in self._contents(pending.pop()) if is_dir]
            yield from inner
            pending += inner

    def _look_again(self) -> None:
        """Handle that the path may lead elsewhere: report it, and watch the new target."""
        was = self._where.identity
        if not self._where.refresh():
            return
        if was is not None:
            self._lost()
        if self._where.identity is not None and os.path.isdir(self.root):
            self._restored()

    def _lost(self) -> None:
        self._forget(self.root)
        self._window.add(FileChange("lost", self.root, is_dir=True))

    def _restored(self) -> None:
        self._try_add(self.root, follow=True)
        self._window.add(FileChange("restored", self.root, is_dir=True))
        for path in self._announce(self.root):
            self._arrived(path)

    def _announce(self, path: str) -> list[str]:
        """Report the content of a newly watched directory; return its subdirectories."""
        contents = self._contents(path)
        for inner, is_dir in contents:
            self._announced.add(inner)
            self._report(FileChange("create", inner, is_dir))
        return [inner for inner, is_dir in contents if is_dir]

    def _resync(self) -> None:
        """Handle lost events: watch every existing directory, and report an overflow."""
        self._window.add(FileChange("overflow", self.root, is_dir=True, reason="the kernel dropped events"))
        self._look_again()
        known = self._directories
        self._directories = {}
        self._try_add(self.root, follow=True)
        if self._recursive:
            for path in self._below(self.root):
                self._try_add(path)
        for watch in known.keys() - self._directories.keys():
            self._drop(watch)

    def _forget(self, top: str) -> None:
        for watch, path in list(self._directories.items()):
            if path == top or path.startswith(f"{top}/"):
                del self._directories[watch]
                self._drop(watch)

    def _drop(self, watch: int) -> None:
        if not self._where.watches(watch):
            self.inotify.remove(watch)

    def _try_add(self, path: str, *, follow: bool = False) -> None:
        try:
            self._add(path, follow=follow)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                self._window.add(FileChange("overflow", self.root, is_dir=True, reason="no inotify watches are left"))

    def _add(self, path: str, *, follow: bool = False) -> None:
        if len(self._directories) >= MAX_DIRECTORIES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        mask = _DIRECTORY if follow else _DIRECTORY | Mask.DONT_FOLLOW
        self._directories[self.inotify.add(path, mask)] = path

    def _report(self, change: FileChange) -> None:
        if self._included(self._relative(change.path)):
            self._window.add(change)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self.root)

    def _ignored(self, path: str) -> bool:
        return os.path.basename(path).startswith(STAGING_PREFIX) or self._excluded(self._relative(path))


def _is_nameless(path: str) -> bool:
    """Whether this is the kernel's name for an unnamed file (O_TMPFILE): a number that is not in the directory."""
    name = os.path.basename(path)
    return name.startswith("#") and name[1:].isdecimal() and not os.path.lexists(path)


class PathWatch:
    """Watches one path, which may not exist yet: its creation, changes and removal."""

    def __init__(self, path: str, window: CoalescingWindow) -> None:
        self.root = path
        self.inotify = Inotify()
        self._window = window
        self._where = WatchedPath(path, self.inotify)
        self._file: int | None = None

    def open(self) -> None:
        """Begin."""
        self._where.refresh()
        self._follow()

    def read(self) -> None:
        """Read the kernel's events."""
        for event in self.inotify.read():
            if event.watch == self._file:
                self._take(event.mask)
            if self._where.concerns(event) or event.mask & Mask.Q_OVERFLOW:
                self._look_again()

    def take(self) -> list[FileChange]:
        """Return the changes of the window that has passed."""
        return self._window.take()

    def _take(self, mask: Mask) -> None:
        if mask & Mask.IGNORED:  # it is gone, though a new file may have the same inode number already
            self._window.add(FileChange("remove", self.root))
            self._where.identity = None
            self._look_again()
        elif mask & Mask.MODIFY:
            self._report("write")
        elif mask & Mask.ATTRIB and self._where.unchanged():  # else it is the link count of a removed file
            self._report("chmod")

    def _look_again(self) -> None:
        was = self._where.identity
        if self._where.refresh():
            self._follow()
            now = self._where.identity
            self._report("remove" if now is None else "create" if was is None else "write")

    def _follow(self) -> None:
        self._file = None
        if self._where.identity is not None:
            with suppress(OSError):  # not readable: its creation and removal are still seen
                self._file = self.inotify.add(self.root, Mask.MODIFY | Mask.ATTRIB | Mask.MASK_ADD)

    def _report(self, kind: Kind) -> None:
        with suppress(OSError):
            self._window.add(FileChange(kind, self.root, stat.S_ISDIR(os.stat(self.root).st_mode)))
            return
        self._window.add(FileChange(kind, self.root))
