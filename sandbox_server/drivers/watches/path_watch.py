"""Watches where a path leads: it is resolved again when it, or a directory or symlink above it, changes."""

import os
from collections.abc import Iterator

from sandbox_server.drivers.watches.inotify import Inotify, Mask, RawEvent

_STRUCTURE = Mask.CREATE | Mask.MOVED_TO | Mask.MOVED_FROM | Mask.DELETE | Mask.ONLYDIR | Mask.MASK_ADD

type Identity = tuple[int, int]
"""Device and inode."""


class WatchedPath:
    """Watches every directory above a path for the name that leads there."""

    def __init__(self, path: str, inotify: Inotify) -> None:
        self.path = path
        self._inotify = inotify
        self._names: dict[int, str] = {}
        self.identity: Identity | None = None

    def concerns(self, event: RawEvent) -> bool:
        """Whether the event may mean that the path leads elsewhere now."""
        return self._names.get(event.watch) == event.name or bool(event.mask & Mask.UNMOUNT)

    def refresh(self) -> bool:
        """Resolve the path and watch the directories above.

        Return True if it leads elsewhere or nowhere since the last call.
        """
        before = self.identity
        while True:
            self._names = dict(self._watch_above())
            self.identity = self._look()
            if dict(self._watch_above()) == self._names and self._look() == self.identity:
                return self.identity != before

    def unchanged(self) -> bool:
        """Whether the path leads to the same file as at the last `refresh`."""
        return self._look() == self.identity

    def watches(self, watch: int) -> bool:
        """Whether a watch is one of those above the path."""
        return watch in self._names

    def _look(self) -> Identity | None:
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _watch_above(self) -> Iterator[tuple[int, str]]:
        directory = self.path
        while directory != "/":
            directory, name = os.path.split(directory)
            try:
                yield self._inotify.add(directory, _STRUCTURE), name
            except OSError:  # missing or not readable: a directory further up is watched
                continue
