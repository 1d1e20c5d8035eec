"""Changes of the tree in the file worker: make, move, copy, delete, change modes."""

import errno
import os
import shutil
import stat
from contextlib import suppress

from sandbox_server.drivers.files.content import describe, open_regular
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.modes import change_mode
from sandbox_server.drivers.files.staged_writes import check_match, commit, copy_content, rename_new, resolve, staged, staging_name
from sandbox_server.drivers.files.worker_errors import FileRefused


def mkdir(request: WorkerFrame) -> WorkerFrame:
    """Make a directory, with `parents` its parents too. An existing one is `exists_ok` or EEXIST."""
    header = request.header
    path, made = header["path"], False
    if header.get("parents"):
        os.makedirs(os.path.dirname(path.rstrip("/")) or "/", exist_ok=True)
    try:
        os.mkdir(path, header.get("mode") or 0o777)
        made = True
    except FileExistsError:
        if not (header.get("exists_ok") and os.path.isdir(path)):
            raise
    if made and header.get("mode"):
        os.chmod(path, header["mode"])
    return WorkerFrame({"made": made} | describe(os.stat(path)))


def move(request: WorkerFrame) -> WorkerFrame:
    """Rename, or copy and delete across file systems.

    The destination is the new path itself, replaced only with `overwrite`.
    """
    header = request.header
    source, destination = header["path"], header["destination"]
    os.lstat(source)
    _make_parent(header["parents"], destination)
    try:
        (os.rename if header.get("overwrite") else rename_new)(source, destination)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise _about_destination(error, destination) from None
        _copy_into_place(source, destination, overwrite=header.get("overwrite", False))
        _remove(source)
    return WorkerFrame(describe(os.lstat(destination)))


def copy(request: WorkerFrame) -> WorkerFrame:
    """Copy a file or a whole tree. Symlinks, modes and times are kept; sockets and devices are left out and listed."""
    header = request.header
    source, destination = header["path"], header["destination"]
    status = os.lstat(source)
    if stat.S_ISDIR(status.st_mode) and not header.get("recursive"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), source)
    _make_parent(header["parents"], destination)
    left_out = _copy_into_place(source, destination, overwrite=header.get("overwrite", False))
    return WorkerFrame({"left_out": left_out} | describe(os.lstat(destination)))


def delete(request: WorkerFrame) -> WorkerFrame:
    """Delete a file or symlink; a non-empty directory only with `recursive`."""
    header = request.header
    path = header["path"]
    if os.path.realpath(path) == "/":
        raise FileRefused("invalid_target", "the root directory cannot be deleted")
    try:
        status = os.lstat(path)
        check_match(header, status)
        if stat.S_ISDIR(status.st_mode) and not header.get("recursive"):
            _remove_empty(path)
        else:
            _remove(path)
    except FileNotFoundError:
        if not header.get("missing_ok"):
            raise
        return WorkerFrame({"deleted": False})
    return WorkerFrame({"deleted": True})


def change(request: WorkerFrame) -> WorkerFrame:
    """Change mode (in chmod(1)'s syntax), owner and group; with `recursive` of everything below.

    Symlinks are left alone.
    """
    header = request.header
    path = header["path"]
    _change(path, header)
    changed = 1
    if header.get("recursive") and os.path.isdir(path):
        for directory, names, files in os.walk(path, onerror=_raise):
            for name in names + files:
                changed += _change(os.path.join(directory, name), header, follow=False)
    return WorkerFrame({"changed_entries": changed} | describe(os.stat(path)))


def _change(path: str, header: dict[str, str], *, follow: bool = True) -> int:
    status = os.stat(path, follow_symlinks=follow)
    if stat.S_ISLNK(status.st_mode):
        return 0
    if header.get("owner") or header.get("group"):
        _chown(path, header.get("owner"), header.get("group"))
    if header.get("mode"):
        os.chmod(path, change_mode(status.st_mode, header["mode"]))
    return 1


def _chown(path: str, owner: str | None, group: str | None) -> None:
    try:
        if owner:
            shutil.chown(path, user=_id_or_name(owner))
        if group:
            shutil.chown(path, group=_id_or_name(group))
    except LookupError as error:
        raise FileRefused("invalid_target", str(error.args[0]), path) from None


def _id_or_name(name: str) -> str | int:
    return int(name) if name.isdecimal() else name


def _raise(error: OSError) -> None:
    raise error


def _make_parent(wanted: bool, path: str) -> None:
    if wanted:
        os.makedirs(os.path.dirname(path.rstrip("/")) or "/", exist_ok=True)


def _about_destination(error: OSError, destination: str) -> OSError:
    """Put the destination's name into an error that concerns it."""
    if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR):
        return OSError(error.errno, error.strerror, destination)
    return error


def _copy_into_place(source: str, destination: str, *, overwrite: bool) -> list[str]:
    """Copy to a temporary name beside the destination, so that it appears whole or not at all."""
    if os.path.lexists(destination) and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), destination)
    if stat.S_ISREG(os.lstat(source).st_mode):
        _copy_file(source, resolve(destination), exclusive=not overwrite)
        return []
    inside = os.path.realpath(os.path.dirname(destination.rstrip("/")) or "/")
    if os.path.commonpath([inside, os.path.realpath(source)]) == os.path.realpath(source):
        raise FileRefused("invalid_target", f"{destination!r} is inside {source!r}", destination)
    fresh = staging_name(inside)
    left_out: list[str] = []
    try:
        _copy_tree(source, fresh, left_out)
        (os.rename if overwrite else rename_new)(fresh, destination)
    except OSError as error:
        raise _about_destination(error, destination) from None
    finally:
        with suppress(FileNotFoundError):
            _remove(fresh)
    return left_out


def _copy_tree(source: str, destination: str, left_out: list[str]) -> None:
    status = os.lstat(source)
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        os.mkdir(destination, 0o700)
        with os.scandir(source) as entries:
            for entry in entries:
                _copy_tree(entry.path, os.path.join(destination, entry.name), left_out)
    elif kind == stat.S_IFLNK:
        os.symlink(os.readlink(source), destination)
    elif kind == stat.S_IFREG:
        _copy_file(source, destination, exclusive=True)
    elif kind == stat.S_IFIFO:
        os.mkfifo(destination)
    else:
        left_out.append(source)
        return
    shutil.copystat(source, destination, follow_symlinks=False)


def _copy_file(source: str, destination: str, *, exclusive: bool) -> None:
    fd, status = open_regular(source)
    with open(fd, "rb", buffering=0), staged(destination) as fresh:
        copy_content(fd, fresh)
        os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))
        commit(fresh, destination, {"mode": stat.S_IMODE(status.st_mode) & 0o777, "exclusive": exclusive})


def _remove(path: str) -> None:
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _remove_empty(path: str) -> None:
    try:
        os.rmdir(path)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
        raise FileRefused("invalid_target", f"the directory {path!r} is not empty: ask for `recursive`") from None


OPERATIONS = {"mkdir": mkdir, "move": move, "copy": copy, "delete": delete, "change": change}
