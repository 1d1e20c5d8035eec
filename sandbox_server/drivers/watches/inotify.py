"""A thin wrapper of inotify(7): a descriptor, its watches, and their events."""

import ctypes
import errno
import fcntl
import os
import struct
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag

_LIBC = ctypes.CDLL(None, use_errno=True)
_EVENT = struct.Struct("iIII")
_READ_BYTES = 256 << 10


class Mask(IntFlag):
    """Bits of an event or of a watch, as in <sys/inotify.h>."""

    MODIFY = 0x2
    ATTRIB = 0x4
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    DELETE_SELF = 0x400
    MOVE_SELF = 0x800
    UNMOUNT = 0x2000
    Q_OVERFLOW = 0x4000
    IGNORED = 0x8000
    ONLYDIR = 0x1000000
    MASK_ADD = 0x20000000
    DONT_FOLLOW = 0x2000000
    EXCL_UNLINK = 0x4000000
    ISDIR = 0x40000000


@dataclass(frozen=True, slots=True)
class RawEvent:
    """One event of the kernel. `name` is empty for the watched thing itself; `cookie` links both halves of a rename."""

    watch: int
    mask: Mask
    cookie: int
    name: str


class Inotify:
    """One inotify instance. `fileno()` is readable when there are events."""

    def __init__(self) -> None:
        self._fd = _checked(_LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify")

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._fd

    def add(self, path: str, mask: Mask) -> int:
        """Watch the target of `path`; returns the existing watch if there is one.

        Raises OSError, ENOSPC at the limit of watches.
        """
        return _checked(_LIBC.inotify_add_watch(self._fd, os.fsencode(path), int(mask)), path)

    def remove(self, watch: int) -> None:
        """Remove a watch. One that the kernel has removed is no error."""
        if _LIBC.inotify_rm_watch(self._fd, watch) < 0 and ctypes.get_errno() != errno.EINVAL:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def read(self) -> Iterator[RawEvent]:
        """Yield the waiting events."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, mask, cookie, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            yield RawEvent(watch, Mask(mask), cookie, os.fsdecode(data[at - length : at].rstrip(b"\0")))

    @property
    def pending(self) -> bool:
        """Whether events are waiting."""
        return fcntl.ioctl(self._fd, termios.FIONREAD, b"\0" * 4) != b"\0" * 4

    def close(self) -> None:
        """Close the instance and its watches."""
        os.close(self._fd)


def _checked(result: int, path: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return result
