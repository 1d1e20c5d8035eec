"""Refusals of a file worker, where the kernel would have gone ahead or blocked."""

import errno
import os
import stat

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
}


class FileRefused(Exception):
    """The operation was refused.

    `kind` is an error type of the contract, or `conflict`; `message` is for the caller.
    """

    def __init__(self, kind: str, message: str, path: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.path = path


def require_regular(status: os.stat_result, path: str) -> None:
    """Raise unless the status is that of a regular file: reading a pipe or a device may block for ever."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise FileRefused("invalid_target", f"{path!r} is {_KINDS.get(stat.S_IFMT(status.st_mode), 'special')}, not a regular file", path)


def require_directory(path: str) -> None:
    """Raise unless the path leads to a directory."""
    if not stat.S_ISDIR(os.stat(path).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
