"""Atomic writes in the file worker: a file is written without a name, then moved into place in one step.

The content goes to an unnamed file (O_TMPFILE) in the target's directory, so an interrupted write leaves nothing
behind. The file gets the mode, owner and extended attributes of the one that it replaces. A symlink is kept, and its
target is replaced. If the directory is not writable but the file is, or the owner cannot be kept, the file is
overwritten in place.
"""

import ctypes
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sandbox_server.drivers.files.content import describe, etag, open_regular
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.name_encoding import to_wire
from sandbox_server.drivers.files.worker_errors import FileRefused, require_regular

STAGING_PREFIX = ".~tandem-"
"""Prefix of a staged file's temporary name. Watches do not report such names."""

_LINKS_FOLLOWED = 40
_NO_TMPFILE = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL}
_NO_LINK = {errno.EXDEV, errno.ENOENT, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK}
_NOT_REPLACEABLE = {errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV}
_NO_COPY_RANGE = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM}
_PIECE = 8 << 20
_ACL = "system.posix_acl_access"

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1


def resolve(path: str) -> str:
    """Resolve symlinks at the end of a path, so that their target is written. The target need not exist."""
    for _ in range(_LINKS_FOLLOWED):
        try:
            link = os.readlink(path)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return path
            raise
        path = os.path.join(os.path.dirname(path), link)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def existing(path: str) -> os.stat_result | None:
    """Return the status of the regular file at a path; None if there is none. Raises for other kinds of files."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    require_regular(status, path)
    return status


def write(request: WorkerFrame) -> WorkerFrame:
    """Write the payload: replace the file whole, or `append` to it."""
    header = request.header
    target = prepare(header)
    if header.get("append") and (status := existing(target)):
        check_match(header, status)
        return WorkerFrame(describe(_append(target, request.payload)))
    with staged(target) as fd:
        _write_all(fd, request.payload)
        return WorkerFrame(describe(commit(fd, target, header)))


def stage(request: WorkerFrame) -> WorkerFrame:
    """Open an unnamed file for the new content of `path`. `commit` gives it the name."""
    header = request.header
    target = prepare(header)
    status = existing(target)
    check_match(header, status)
    return WorkerFrame({"target": to_wire(target)}, fds=[_open_staged(target, status)])


def commit_staged(request: WorkerFrame) -> WorkerFrame:
    """Move the staged file that came with the request into place."""
    return WorkerFrame(describe(commit(request.fds[0], prepare(request.header), request.header)))


def begin(request: WorkerFrame) -> WorkerFrame:
    """Put an empty file at `path`, and pass on its descriptor for writing: what is written shows at once.

    The file is opened by its name, because not every kernel can give the unnamed file one.
    """
    target = prepare(request.header)
    with staged(target) as fd:
        commit(fd, target, request.header)
    kept, status = open_regular(target, os.O_WRONLY)
    return WorkerFrame(describe(status), fds=[kept])


def prepare(header: dict[str, Any]) -> str:
    """Return the path to write, with symlinks resolved; with `parents`, make its directory."""
    target = resolve(header["path"])
    if os.path.basename(target) in ("", ".", ".."):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if header.get("parents"):
        os.makedirs(os.path.dirname(target), exist_ok=True)
    return target


@contextmanager
def staged(target: str) -> Iterator[int]:
    """Open an unnamed file that `commit` can move to `target`."""
    fd = _open_staged(target, existing(target))
    try:
        yield fd
    finally:
        os.close(fd)


def commit(fd: int, target: str, header: dict[str, Any]) -> os.stat_result:
    """Move the staged file at `fd` to `target`.

    `header` may have `mode` for a new file, `exclusive` (EEXIST if the target exists) and `if_match` (the etag that it
    must have).
    """
    current = existing(target)
    check_match(header, current)
    try:
        with _with_temporary_name(fd, os.path.dirname(target) or "/") as (name, kept):
            if current is None or header.get("exclusive"):
                os.fchmod(kept, header.get("mode") or _new_mode())
                put_new(name, target)
            else:
                _copy_metadata(kept, current, target)
                os.rename(name, target)
            return os.fstat(kept)
    except OSError as error:
        if current is None or error.errno not in _NOT_REPLACEABLE:
            raise
    return _overwrite_in_place(fd, target)


def put_new(name: str, target: str) -> None:
    """Move a file to a path that must not exist (EEXIST). The file exists under one of both names at any time."""
    try:
        os.link(name, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        rename_new(name, target)
    else:
        os.unlink(name)


def rename_new(source: str, target: str) -> None:
    """Rename to a path that must not exist (EEXIST)."""
    if _LIBC.renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), _RENAME_NOREPLACE) == 0:
        return
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS):  # the file system cannot do it in one step
        raise OSError(number, os.strerror(number), target if number == errno.EEXIST else source)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def copy_content(source: int, destination: int) -> None:
    """Copy everything from one descriptor to another, in the kernel if possible."""
    try:
        while os.copy_file_range(source, destination, _PIECE):
            pass
    except OSError as error:
        if error.errno not in _NO_COPY_RANGE:
            raise
    while piece := os.read(source, 1 << 20):
        _write_all(destination, piece)


def check_match(header: dict[str, Any], current: os.stat_result | None) -> None:
    wanted = header.get("if_match")
    if wanted is None:
        return
    found = etag(current) if current else None
    if found is None or (wanted != "*" and wanted != found):
        now = f"its etag is now {found}" if found else "it does not exist"
        raise FileRefused("conflict", f"the file is not the one you read: {now}")


def _open_staged(target: str, current: os.stat_result | None) -> int:
    try:
        return _open_nameless(os.path.dirname(target) or "/")
    except OSError as error:
        if current is None or not isinstance(error, PermissionError):
            raise OSError(error.errno, os.strerror(error.errno or errno.EIO), target) from None
    os.close(open_regular(target, os.O_WRONLY)[0])  # it will be overwritten in place: fail now if it cannot be
    return _open_nameless("/tmp")


def _open_nameless(directory: str) -> int:
    try:
        return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in _NO_TMPFILE:
            raise
    name = staging_name(directory)
    fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(name)
    return fd


@contextmanager
def _with_temporary_name(fd: int, directory: str) -> Iterator[tuple[str, int]]:
    """Give the unnamed file a name in `directory`, and yield the name with a descriptor.

    It is a copy if linking is not possible.
    """
    name = staging_name(directory)
    kept = fd
    try:
        # Python calls linkat(2), which can follow, only with a directory descriptor; an absolute path ignores it.
        os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=fd, follow_symlinks=True)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        kept = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if kept != fd:
            os.lseek(fd, 0, os.SEEK_SET)
            copy_content(fd, kept)
        yield name, kept
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
        if kept != fd:
            os.close(kept)


def staging_name(directory: str) -> str:
    """Return a new path in a directory for a file that is not in its place yet."""
    return os.path.join(directory, f"{STAGING_PREFIX}{secrets.token_hex(8)}")


def _new_mode() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


def _copy_metadata(fd: int, current: os.stat_result, target: str) -> None:
    """Give the staged file the owner, mode and attributes of the file it replaces.

    Set-id bits are dropped, as on any write.
    """
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (current.st_uid, current.st_gid):
        os.chown(fd, current.st_uid, current.st_gid)
    for name in os.listxattr(target):
        if name.startswith("user.") or name == _ACL:
            with suppress(OSError):
                os.setxattr(fd, name, os.getxattr(target, name))
    os.fchmod(fd, stat.S_IMODE(current.st_mode) & 0o1777)


def _overwrite_in_place(fd: int, target: str) -> os.stat_result:
    """Write the staged content into the existing file, if its directory or owner does not allow replacing it."""
    kept, _ = open_regular(target, os.O_WRONLY)
    with open(kept, "wb", buffering=0) as file:
        os.lseek(fd, 0, os.SEEK_SET)
        copy_content(fd, file.fileno())
        file.truncate()
        return os.fstat(file.fileno())


def _append(target: str, content: bytes) -> os.stat_result:
    fd, before = open_regular(target, os.O_WRONLY | os.O_APPEND)
    with open(fd, "wb", buffering=0):
        try:
            _write_all(fd, content)
        except OSError:
            os.ftruncate(fd, before.st_size)
            raise
        return os.fstat(fd)


def _write_all(fd: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]


OPERATIONS = {"write": write, "begin": begin, "stage": stage, "commit": commit_staged}
