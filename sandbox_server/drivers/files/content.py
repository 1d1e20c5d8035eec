"""Reading in the file worker: contents, line ranges, descriptors, status."""

import errno
import grp
import os
import pwd
import stat
from contextlib import suppress
from typing import IO, Any

from sandbox_server.drivers.files.message_frames import CHUNK, WorkerFrame
from sandbox_server.drivers.files.name_encoding import to_wire
from sandbox_server.drivers.files.worker_errors import require_regular

TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character_device",
    stat.S_IFBLK: "block_device",
}


def open_regular(path: str, flags: int = os.O_RDONLY) -> tuple[int, os.stat_result]:
    """Open a regular file without ever waiting: a pipe without a writer would block, and opening a device may act on it."""
    require_regular(os.stat(path), path)
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        require_regular(status, path)
    except BaseException:
        os.close(fd)
        raise
    return fd, status


_BEYOND = 64 << 10
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def etag(status: os.stat_result) -> str:
    """Return the quoted entity tag of a file's content, which differs after every change."""
    return f'"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"'


def describe(status: os.stat_result) -> dict[str, Any]:
    """Return a status as plain values; times in nanoseconds since the epoch."""
    return {
        "type": TYPES.get(stat.S_IFMT(status.st_mode), "unknown"),
        "size": status.st_size,
        "mode": stat.S_IMODE(status.st_mode),
        "uid": status.st_uid,
        "gid": status.st_gid,
        "links": status.st_nlink,
        "inode": status.st_ino,
        "device": status.st_dev,
        "accessed": status.st_atime_ns,
        "modified": status.st_mtime_ns,
        "changed": status.st_ctime_ns,
        "etag": etag(status),
    }


def read(request: WorkerFrame) -> WorkerFrame:
    """Read a file; EFBIG if it has more than `limit` bytes."""
    header = request.header
    fd, status = open_regular(header["path"])
    with open(fd, "rb") as file:
        content = _read_all(file, status.st_size, header["limit"])
    return WorkerFrame(describe(status), _check_limit(content, header))


def read_lines(request: WorkerFrame) -> WorkerFrame:
    """Read the lines from `start` up to but not including `stop`; EFBIG if they have more than `limit` bytes.

    A file with a byte order mark of a multi-byte encoding is read whole, and the answer says so.
    """
    header = request.header
    fd, status = open_regular(header["path"])
    with open(fd, "rb") as file:
        whole = file.peek(2)[:2] in _WIDE_MARKS
        if whole:
            content = _read_all(file, status.st_size, header["limit"])
        else:
            content = _lines(file, header["start"], header["stop"], header["limit"])
    return WorkerFrame(describe(status) | {"whole": whole}, _check_limit(content, header))


def _check_limit(content: bytes, header: dict[str, Any]) -> bytes:
    if len(content) > header["limit"]:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), header["path"])
    return content


def _read_all(file: IO[bytes], size: int, limit: int) -> bytes:
    """Read to the end, or a little over the limit. Files in /proc have content although their size is 0."""
    content = file.read(min(size, limit) + 1)
    while len(content) <= limit and (piece := file.read(_BEYOND)):
        content += piece
    return content


def _lines(file: IO[bytes], start: int, stop: int | None, limit: int) -> bytes:
    skipped = 0
    while skipped < start and (piece := file.readline(CHUNK)):
        skipped += piece.endswith(b"\n")
    content = bytearray()
    taken = 0
    while (stop is None or taken < stop - start) and len(content) <= limit and (piece := file.readline(CHUNK)):
        content += piece
        taken += piece.endswith(b"\n")
    return bytes(content)


def open_file(request: WorkerFrame) -> WorkerFrame:
    """Open a file for reading and pass on the descriptor, at the start of the file."""
    fd, status = open_regular(request.header["path"])
    return WorkerFrame(describe(status), fds=[fd])


def stat_file(request: WorkerFrame) -> WorkerFrame:
    """Return the status of a path, and of its file system. Without `follow`, a symlink's own status and target."""
    path = request.header["path"]
    status = os.stat(path) if request.header["follow"] else os.lstat(path)
    answer = describe(status) | {
        "owner": _user(status.st_uid),
        "group": _group(status.st_gid),
        "real_path": to_wire(os.path.realpath(path)),
    }
    if stat.S_ISLNK(status.st_mode):
        answer["target"] = to_wire(os.readlink(path))
        with suppress(OSError):
            answer["leads_to"] = TYPES.get(stat.S_IFMT(os.stat(path).st_mode), "unknown")
    with suppress(OSError):
        answer["filesystem"] = _filesystem(path)
    return WorkerFrame(answer)


def _filesystem(path: str) -> dict[str, Any]:
    status = os.statvfs(path)
    return {
        "total": status.f_blocks * status.f_frsize,
        "free": status.f_bavail * status.f_frsize,
        "read_only": bool(status.f_flag & os.ST_RDONLY),
    }


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


OPERATIONS = {"read": read, "read_lines": read_lines, "open": open_file, "stat": stat_file}
