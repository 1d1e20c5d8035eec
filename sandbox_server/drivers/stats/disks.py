"""Usage of filesystems."""

import os
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """One filesystem, in bytes and inodes, named by the first requested path on it."""

    path: str
    total_bytes: int
    free_bytes: int
    """Available to ordinary users."""
    used_bytes: int
    inode_total: int | None
    """None if the filesystem allocates inodes dynamically."""
    inode_used: int | None


def snapshot(paths: Iterable[str]) -> list[DiskUsage]:
    """Return the filesystems of these paths, each once. Missing paths are left out."""
    found: dict[int, DiskUsage] = {}
    for path in paths:
        try:
            device, room = os.stat(path).st_dev, os.statvfs(path)
        except OSError:
            continue
        found.setdefault(device, _disk(path, room))
    return list(found.values())


def _disk(path: str, room: os.statvfs_result) -> DiskUsage:
    return DiskUsage(
        path=path,
        total_bytes=room.f_blocks * room.f_frsize,
        free_bytes=room.f_bavail * room.f_frsize,
        used_bytes=(room.f_blocks - room.f_bfree) * room.f_frsize,
        inode_total=room.f_files or None,
        inode_used=room.f_files - room.f_ffree if room.f_files else None,
    )
