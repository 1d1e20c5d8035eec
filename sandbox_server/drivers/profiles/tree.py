"""The files of a profile, read without following a link and within limits, whoever wrote them.

Chromium's renderers run what pages bring, so a profile is read as what an attacker may have written.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox_server.drivers.profiles.problem import ProfileProblem, damaged, malformed

MAX_BYTES = 1 << 30
"""Bytes of all files of one profile, caches apart."""
MAX_FILES = 20_000
MAX_DEPTH = 24
MAX_PATH = 1024
"""Characters of a path."""
PIECE = 1 << 20

CACHES = frozenset(
    {
        "BrowserMetrics",
        "Cache",
        "Code Cache",
        "Crash Reports",
        "Crashpad",
        "DawnGraphiteCache",
        "DawnWebGPUCache",
        "GPUCache",
        "GrShaderCache",
        "GraphiteDawnCache",
        "ShaderCache",
        "component_crx_cache",
        "optimization_guide_model_store",
    }
)
"""Directories that Chromium fills again. They are not copied."""
OWN = ("SingletonLock", "SingletonCookie", "SingletonSocket")
"""Links and a socket of the Chromium that runs on the profile."""


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file. `parent` is a descriptor of its directory, valid until the next one is asked for."""

    path: str
    parent: int
    name: str
    size: int


def files(root: int) -> Iterator[TreeFile]:
    """Yield the regular files below an open directory. Raises ProfileProblem for links, devices and what is above the limits."""
    found = total = 0
    for file in _below(root, "", 0):
        found, total = found + 1, total + file.size
        if found > MAX_FILES:
            raise ProfileProblem("too_large", f"the profile has more than {MAX_FILES} files", "limit")
        if total > MAX_BYTES:
            raise ProfileProblem("too_large", f"the profile has more than {MAX_BYTES} bytes", "limit")
        yield file


def _below(directory: int, prefix: str, depth: int) -> Iterator[TreeFile]:
    if depth > MAX_DEPTH or len(prefix) > MAX_PATH:
        raise ProfileProblem("too_large", f"the profile has directories deeper than {MAX_DEPTH}", "limit")
    with os.scandir(directory) as entries:
        names = sorted(entry.name for _, entry in zip(range(MAX_FILES + 1), entries, strict=False))
    for name in names:
        path = f"{prefix}{name}"
        if path in OWN:
            continue
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:  # a Chromium that runs removes its temporary files
            continue
        if not _is_file_name(name):
            raise damaged(f"{path!r} is a name that is no text")
        if stat.S_ISREG(status.st_mode):
            yield TreeFile(path, directory, name, status.st_size)
        elif not stat.S_ISDIR(status.st_mode):
            raise damaged(f"{path!r} is neither a file nor a directory")
        elif name not in CACHES:
            child = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            try:
                yield from _below(child, f"{path}/", depth + 1)
            finally:
                os.close(child)


def open_file(parent: int, name: str) -> int:
    """Open a regular file for reading, and nothing else: no link, and no pipe that would block. Raises ProfileProblem, and OSError."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise damaged(f"{name!r} is no file")
    return descriptor


def read_small(root: int, path: str, limit: int) -> bytes | None:
    """Return the content of a file below an open directory; None if there is none. Raises ProfileProblem above `limit` bytes."""
    content = read_start(root, path, limit + 1)
    if content is not None and len(content) > limit:
        raise damaged(f"{path} has more than {limit} bytes")
    return content


def read_start(root: int, path: str, count: int) -> bytes | None:
    """Return the first bytes of a file below an open directory; None if there is none. Raises ProfileProblem."""
    *folders, name = path.split("/")
    opened = os.dup(root)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened)
            os.close(opened)
            opened = inner
        with open(open_file(opened, name), "rb") as file:
            return file.read(count)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged(f"{path}: {error.strerror}") from None
    finally:
        os.close(opened)


def pieces(file: TreeFile) -> Iterator[bytes]:
    """Yield the content of a file, as many bytes as it had. Raises ProfileProblem if it has fewer by now."""
    left = file.size
    with open(open_file(file.parent, file.name), "rb") as source:
        while left:
            piece = source.read(min(PIECE, left))
            if not piece:
                raise damaged(f"{file.path!r} changed while it was read")
            left -= len(piece)
            yield piece


def check_path(path: object) -> str:
    """Return a path of an archive that stays below the profile; raises ProfileProblem for any other."""
    if not isinstance(path, str) or not 0 < len(path) <= MAX_PATH or "\0" in path:
        raise malformed("it names a path that is none")
    parts = path.split("/")
    if len(parts) > MAX_DEPTH or not all(map(_is_file_name, parts)) or path in OWN or CACHES.intersection(parts[:-1]):
        raise malformed(f"it names a path that leads elsewhere: {path[:200]!r}")
    return path


def _is_file_name(part: str) -> bool:
    try:
        return part not in ("", ".", "..") and len(part.encode()) <= 255
    except UnicodeEncodeError:
        return False


class NewTree:
    """A new directory that is filled with files, each synchronised to disk, of at most `room` bytes together."""

    def __init__(self, root: str, room: int = MAX_BYTES) -> None:
        self._root = root
        self._room = room
        self._made = {"": root}
        os.mkdir(root, 0o700)

    def write(self, path: str, content: Iterator[bytes]) -> None:
        """Make a file with its directories.

        Raises OSError, FileExistsError for a second one of that path, and ProfileProblem where there is no room.
        """
        folder, _, name = path.rpartition("/")
        descriptor = os.open(f"{self._folder(folder)}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.writelines(map(self._within, content))
            file.flush()
            os.fsync(file.fileno())

    def _within(self, piece: bytes) -> bytes:
        self._room -= len(piece)
        if self._room < 0:
            raise ProfileProblem("resource_exhausted", "all profiles together would have more than PROFILES_MAX_BYTES", "limit")
        return piece

    def _folder(self, path: str) -> str:
        if path not in self._made:
            parent, _, name = path.rpartition("/")
            folder = f"{self._folder(parent)}/{name}"
            os.mkdir(folder, 0o700)
            self._made[path] = folder
        return self._made[path]

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open it, to look at what was written."""
        directory = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield directory
        finally:
            os.close(directory)

    def finish(self) -> None:
        """Synchronise the directories."""
        for folder in reversed(self._made.values()):
            synchronise(folder)


def synchronise(folder: str) -> None:
    """Have the names in a directory on disk."""
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
