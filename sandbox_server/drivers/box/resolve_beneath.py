"""Ways through a directory that the agent filled: no symbolic link is followed, at no name of the way.

One name is opened at a time, from the directory before it (openat(2) with O_NOFOLLOW). That holds on every kernel and under every seccomp
profile, where openat2(2) is refused by some; and what was looked at is what is used, since it stays open and is mounted by descriptor.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

OPAQUE = "user.overlay.opaque"
"""Marks a directory of a layer that hides the one below it (kernel documentation, filesystems/overlayfs)."""
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FoundBeneath(NamedTuple):
    """What a layer has at a path: whether a directory is there, and whether the layer hides what lower ones have."""

    directory: bool
    hides: bool


def names_of(path: str) -> list[str]:
    """The names of a path, in order; raises ValueError for one that leads upwards."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ValueError(f"{path!r} leads upwards")
    return names


def open_directory(top: str | int, path: str) -> int:
    """Open the directory at `path` below `top`; raises OSError where there is none, or where the way leads through a link."""
    place = os.dup(top) if isinstance(top, int) else os.open(top, DIRECTORY & ~os.O_NOFOLLOW)
    for name in names_of(path):
        place = _step(place, name)
    return place


def make_directory(top: str | int, path: str) -> tuple[int, bool]:
    """Open the directory at `path` below `top`, made where it is not there; tells whether something else was in its way, which is gone."""
    place = os.dup(top) if isinstance(top, int) else os.open(top, DIRECTORY & ~os.O_NOFOLLOW)
    replaced = False
    for name in names_of(path):
        try:
            replaced |= clear_way(place, name)
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=place)
        except BaseException:
            os.close(place)
            raise
        place = _step(place, name)
        if replaced:
            with suppress(OSError):  # a filesystem without such attributes has no layers
                os.setxattr(place, OPAQUE, b"y")
    return place, replaced


def _step(place: int, name: str) -> int:
    """Open a directory in another, which is closed."""
    try:
        return os.open(name, DIRECTORY, dir_fd=place)
    finally:
        os.close(place)


def clear_way(place: int, name: str) -> bool:
    """Remove what is in the way of a directory; tells whether something was."""
    try:
        found = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(found.st_mode):
        return False
    os.unlink(name, dir_fd=place)
    return True


@contextmanager
def opened(top: str | int, path: str) -> Iterator[str]:
    """Give a name of the directory at `path` below `top`, by its descriptor, for calls that take names; raises as `open_directory` does."""
    fd = open_directory(top, path)
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def is_directory(top: str | int, path: str) -> bool:
    """Whether a directory is at `path` below `top`, and no link on the way."""
    try:
        os.close(open_directory(top, path))
    except OSError:
        return False
    return True


def look(layer: str, path: str) -> FoundBeneath:
    """Look for a directory in a layer: what is no directory on the way hides what lower layers have there, and so does an opaque one."""
    place, hides = os.open(layer, DIRECTORY), False
    try:
        for name in names_of(path):
            try:
                found = os.stat(name, dir_fd=place, follow_symlinks=False)
            except FileNotFoundError:
                return FoundBeneath(False, hides)
            if not stat.S_ISDIR(found.st_mode):
                return FoundBeneath(False, True)
            inner = os.open(name, DIRECTORY, dir_fd=place)
            os.close(place)
            place = inner
            hides |= is_opaque(place)
        return FoundBeneath(True, hides)
    finally:
        os.close(place)


def is_opaque(fd: int) -> bool:
    """Whether an open directory of a layer hides what lower layers have there."""
    with suppress(OSError):
        return os.getxattr(fd, OPAQUE) == b"y"
    return False


def resemble(target: int, source: int) -> None:
    """Give a directory the owner, mode, times and attributes of another, but for what overlayfs notes of that one."""
    status = os.fstat(source)
    os.fchown(target, status.st_uid, status.st_gid)
    os.fchmod(target, stat.S_IMODE(status.st_mode))
    for name in os.listxattr(source):
        if not name.startswith("user.overlay."):
            with suppress(OSError):
                os.setxattr(target, name, os.getxattr(source, name))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
