"""Metadata of files, as operations return it."""

from dataclasses import dataclass
from typing import Literal

type FileKind = Literal["file", "directory", "symlink", "fifo", "socket", "character_device", "block_device", "unknown"]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file's status. Times are nanoseconds since the epoch; `mode` has permission bits only."""

    type: FileKind
    size: int
    mode: int
    uid: int
    gid: int
    links: int
    inode: int
    device: int
    accessed: int
    modified: int
    changed: int
    etag: str


@dataclass(frozen=True, slots=True)
class Filesystem:
    """The file system of a file: total bytes, bytes available to ordinary users, and whether it is read-only."""

    total: int
    free: int
    read_only: bool


@dataclass(frozen=True, slots=True)
class Details:
    """A status with everything that needs a further system call."""

    status: FileStatus
    owner: str
    group: str
    real_path: str
    target: str | None
    """The target of a symlink."""
    leads_to: FileKind | None
    """The kind of file that a symlink leads to; None if it is dangling."""
    filesystem: Filesystem | None


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """One entry of a directory; without a status if it vanished during the listing."""

    path: str
    """Relative to the listed directory."""
    directory: bool
    """Whether it is a directory, or a symlink to one."""
    link: bool
    status: FileStatus | None


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """A part of a tree's entries, and their total number."""

    entries: list[DirectoryEntry]
    total: int
    directories: int
    unreadable: int
    """Directories that could not be read."""
    incomplete: bool
    """Whether the walk ended early, so that there are more entries than `total`."""
