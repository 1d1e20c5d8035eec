"""Copies one entry of a directory into another directory: contents, owner, mode, times and extended attributes.

Both directories are given by descriptor and no link is followed. Contents are shared with the copy where the filesystem can (FICLONE,
ioctl_ficlone(2)); else only what is no hole is copied.
"""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress

from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.resolve_beneath import OPAQUE

CHUNK = 8 << 20
"""Bytes that are copied between two looks at the budget."""
SPARE_BYTES = 64 << 20
SPARE_FILES = 1000
"""What a copy leaves free on the disk, bytes and inodes: programs in the box go on writing."""
NO_ROOM = 'the disk has no room for a copy of what changed; mode "stop" needs none'
TOO_LATE = 'files are too many, or change faster than they are copied: try again, or make it with mode "stop"'
_FICLONE = 0x40049409
_NO_RANGE_COPY = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_REPLACED = (errno.ENOENT, errno.ELOOP, errno.ENXIO)
"""Why a file cannot be opened that was one: it has just gone, or a link or a socket took its place."""
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OVERLAY_MARKS = "user.overlay."


class CopyBudget:
    """How many bytes may be copied, and until when by the monotonic clock.

    Raises StoreError for more, and where the disk would be filled.
    """

    def __init__(self, limit: int, place: int) -> None:
        self._left = limit
        self._place = place
        self.deadline = float("inf")
        self.files = self.bytes = 0

    def check_time(self) -> None:
        """Raise StoreError where it is too late."""
        if time.monotonic() > self.deadline:
            raise StoreError("unavailable", TOO_LATE)

    def take(self, size: int) -> None:
        """Account for bytes about to be copied, or for a name about to be made."""
        self.check_time()
        self._left -= size
        self.bytes += size
        if self._left < 0:
            raise StoreError("resource_exhausted", "what changed is more than CHECKPOINT_QUOTA_BYTES leaves: remove or prune checkpoints")
        room = os.fstatvfs(self._place)
        if room.f_bavail * room.f_frsize < size + SPARE_BYTES or (room.f_files > 0 and room.f_favail < SPARE_FILES):
            raise StoreError("resource_exhausted", NO_ROOM)


def copy_entry(source: int, name: str, target: int, budget: CopyBudget) -> os.stat_result | None:
    """Copy what is no directory, as `name` of the directory `target`; None where it is gone, or is a directory by now."""
    try:
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            return _copy_file(source, name, target, budget)
        if stat.S_ISDIR(status.st_mode):
            return None
        link = os.readlink(name, dir_fd=source) if stat.S_ISLNK(status.st_mode) else None
    except FileNotFoundError:
        return None
    budget.take(0)
    budget.files += 1
    if link is not None:
        os.symlink(link, name, dir_fd=target)
    else:
        os.mknod(name, status.st_mode, status.st_rdev, dir_fd=target)
    os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
    if link is None:
        os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=target)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=target, follow_symlinks=False)
    return status


def _copy_file(source: int, name: str, target: int, budget: CopyBudget) -> os.stat_result | None:
    try:
        read = os.open(name, _READ, dir_fd=source)
    except OSError as error:
        if error.errno in _REPLACED:
            return None
        raise
    try:
        status = os.fstat(read)
        if not stat.S_ISREG(status.st_mode):
            return None
        written = os.open(name, _NEW_FILE, 0o600, dir_fd=target)
        try:
            _copy_content(read, written, status, budget)
            dress(written, read, status)
            finish(written, status)
        finally:
            os.close(written)
    finally:
        os.close(read)
    budget.files += 1
    return status


def _copy_content(source: int, target: int, status: os.stat_result, budget: CopyBudget) -> None:
    budget.take(0)
    with suppress(OSError):
        fcntl.ioctl(target, _FICLONE, source)
        budget.take(status.st_blocks * 512)
        return
    end = 0
    while end < status.st_size:
        try:
            start = os.lseek(source, end, os.SEEK_DATA)
            end = min(os.lseek(source, start, os.SEEK_HOLE), status.st_size)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            break  # no data from there on
        _copy_range(source, target, start, end, budget)
    os.ftruncate(target, status.st_size)


def _copy_range(source: int, target: int, start: int, end: int, budget: CopyBudget) -> None:
    while start < end:
        size = min(CHUNK, end - start)
        budget.take(size)
        done = _copy_some(source, target, start, size)
        if done == 0:
            return  # it has become shorter
        start += done


def _copy_some(source: int, target: int, start: int, size: int) -> int:
    try:
        return os.copy_file_range(source, target, size, offset_src=start, offset_dst=start)
    except OSError as error:
        if error.errno not in _NO_RANGE_COPY:
            raise
    content = os.pread(source, size, start)
    written = 0
    while written < len(content):
        written += os.pwrite(target, content[written:], start + written)
    return written


def dress(target: int, source: int, status: os.stat_result) -> None:
    """Give an open file or directory the owner, mode and attributes of another, but for what overlayfs notes of that one."""
    os.fchown(target, status.st_uid, status.st_gid)
    os.fchmod(target, stat.S_IMODE(status.st_mode))
    kept = {name for name in os.listxattr(source) if not name.startswith(_OVERLAY_MARKS)}
    for name in kept:
        with suppress(FileNotFoundError, OSError):
            os.setxattr(target, name, os.getxattr(source, name))
    for name in set(os.listxattr(target)) - kept:
        if name != OPAQUE:
            with suppress(OSError):
                os.removexattr(target, name)


def finish(target: int, status: os.stat_result) -> None:
    """Set the times, after everything else."""
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
