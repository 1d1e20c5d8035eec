"""Trees of files of any depth and any number: counted, and removed.

The agent made them. Neither needs more than one or two open directories, nor a path, so that no depth is too much; and no link is followed.
"""

import os
import secrets
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count

from sandbox_server.drivers.box.resolve_beneath import DIRECTORY

_AT_ONCE = 10_000
"""Names of directories that are held in memory."""

type Identity = tuple[int, int]


def usage(top: str) -> tuple[int, int]:
    """Count the files below a directory that nobody changes, and the bytes that they take on the disk."""
    place = os.open(top, DIRECTORY)
    try:
        return _Count(place).run()
    finally:
        os.close(place)


class _Count:
    """Goes through a tree with one directory open, by the names that are left of each on the way."""

    def __init__(self, top: int) -> None:
        self._place = os.dup(top)
        self._left: list[tuple[Identity, list[str]]] = []
        self._files = self._bytes = 0

    def run(self) -> tuple[int, int]:
        try:
            self._read()
            while self._left:
                if names := self._left[-1][1]:
                    self._enter(names.pop(), None)
                    self._read()
                else:
                    self._left.pop()
                    if self._left:
                        self._enter("..", self._left[-1][0])
        finally:
            os.close(self._place)
        return self._files, self._bytes

    def _read(self) -> None:
        folders = []
        with os.scandir(self._place) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                self._bytes += status.st_blocks * 512
                if stat.S_ISDIR(status.st_mode):
                    folders.append(entry.name)
                else:
                    self._files += 1
        self._left.append((_identity(self._place), folders))

    def _enter(self, name: str, expected: Identity | None) -> None:
        inner = os.open(name, DIRECTORY, dir_fd=self._place)
        os.close(self._place)
        self._place = inner
        if expected and _identity(inner) != expected:
            raise FileNotFoundError("the tree was moved while it was counted")


def _identity(place: int) -> Identity:
    status = os.fstat(place)
    return status.st_dev, status.st_ino


def remove(paths: Sequence[str], enough: Callable[[], bool] = lambda: False) -> None:
    """Remove directories with everything in them, until it is `enough`; what cannot go stays."""
    for path in paths:
        if enough():
            return
        with suppress(OSError):
            _remove(path, enough)


def _remove(path: str, enough: Callable[[], bool]) -> None:
    """Remove one directory. What is in a directory in it moves up into it first, so that nothing is ever deeper than that."""
    names = (f"{secrets.token_hex(8)}-{number}" for number in count())
    top = os.open(path, DIRECTORY)
    try:
        while folders := _clear(top):
            for folder in folders:
                _flatten(top, folder, names.__next__)
                if enough():
                    return
    finally:
        os.close(top)
    os.rmdir(path)


def _flatten(top: int, folder: str, new_name: Callable[[], str]) -> None:
    inner = os.open(folder, DIRECTORY, dir_fd=top)
    try:
        while folders := _clear(inner):
            for name in folders:
                os.rename(name, new_name(), src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    os.rmdir(folder, dir_fd=top)


def _clear(place: int) -> list[str]:
    """Remove what is no directory, and name some of the directories."""
    folders: list[str] = []
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders += [entry.name]
                if len(folders) == _AT_ONCE:
                    break
            else:
                os.unlink(entry.name, dir_fd=place)
    return folders
