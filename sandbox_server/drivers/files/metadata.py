"""What is known of files: values that operations give back."""

from dataclasses import dataclass
from typing import Literal

type FileKind = Literal["file", "directory", "symlink", "fifo", "socket", "character_device", "block_device", "unknown"]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What the kernel says of a file. Times are nanoseconds since the epoch, `mode` has permission bits only."""

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
    """Where a file is: bytes in all, bytes an ordinary user can still write, whether writing is off."""

    total: int
    free: int
    read_only: bool


@dataclass(frozen=True, slots=True)
class Details:
    """A status with everything that takes a further look."""

    status: FileStatus
    owner: str
    group: str
    real_path: str
    target: str | None
    """What a symbolic link says."""
    leads_to: FileKind | None
    """The kind of thing a link leads to; None when it leads nowhere."""
    filesystem: Filesystem | None


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """One entry of a directory; no status when it went away while it was listed."""

    path: str
    """Relative to the directory that was listed."""
    directory: bool
    """A directory, or a link to one."""
    link: bool
    status: FileStatus | None


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """Some of the entries of a tree, and how many there are in all."""

    entries: list[DirectoryEntry]
    total: int
    directories: int
    unreadable: int
    """Directories that could not be looked into."""
    incomplete: bool
    """The walk ended early: there are more entries than `total`."""
