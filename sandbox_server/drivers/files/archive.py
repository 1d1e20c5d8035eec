"""Archives in the file worker: tar, tar.gz and zip, packed and unpacked as streams."""

import errno
import os
import stat
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO

from sandbox_server.drivers.files.content import describe, open_regular
from sandbox_server.drivers.files.message_frames import CHUNK, WorkerFrame
from sandbox_server.drivers.files.staged_writes import commit, prepare, staged
from sandbox_server.drivers.files.tree_walk import matcher
from sandbox_server.drivers.files.worker_errors import FileRefused, require_directory

MAX_MEMBERS = 1_000_000
_COMPRESSION = 6
_OLDEST_IN_ZIP = (1980, 1, 1, 0, 0, 0)

type Excluded = Callable[[str], bool]


def archive(request: WorkerFrame) -> WorkerFrame:
    """Pack `paths` into the archive `path`, each under its own name. Sockets and devices are left out."""
    header = request.header
    target = prepare(header)
    if os.path.lexists(target) and not header.get("overwrite"):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    add = {"tar": _tar, "tar.gz": _tar, "zip": _zip}[header["format"]]
    members = _members(header["paths"], matcher(header.get("exclude") or ()), os.path.realpath(target))
    with staged(target) as fd:
        with open(fd, "wb", closefd=False) as file:
            count = add(file, members, header["format"])
        return WorkerFrame({"members": count} | describe(commit(fd, target, {"exclusive": not header.get("overwrite")})))


def _members(paths: list[str], excluded: Excluded, target: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield every file below `paths` with its name in the archive, parents first."""
    for path in paths:
        top = os.path.basename(os.path.normpath(path)) or "."
        pending = [(path, top)]
        while pending:
            current, name = pending.pop()
            status = os.lstat(current)
            if current != target:
                yield current, name, status
            if stat.S_ISDIR(status.st_mode):
                names = sorted(os.listdir(current), reverse=True)
                pending += [(os.path.join(current, n), f"{name}/{n}") for n in names if not excluded(f"{name}/{n}")]


def _tar(file: IO[bytes], members: Iterator[tuple[str, str, os.stat_result]], form: str) -> int:
    mode = "w|gz" if form == "tar.gz" else "w|"
    options = {"compresslevel": _COMPRESSION} if form == "tar.gz" else {}
    count = 0
    with tarfile.open(fileobj=file, mode=mode, **options) as tar:  # type: ignore[call-overload]
        for path, name, status in members:
            if not stat.S_ISSOCK(status.st_mode) and not stat.S_ISCHR(status.st_mode) and not stat.S_ISBLK(status.st_mode):
                _add_to_tar(tar, path, name, status)
                count += 1
    return count


def _add_to_tar(tar: tarfile.TarFile, path: str, name: str, status: os.stat_result) -> None:
    info = tar.gettarinfo(path, name)
    if not stat.S_ISREG(status.st_mode) or not info.isreg():
        tar.addfile(info)
        return
    fd, now = open_regular(path)
    with open(fd, "rb") as content:
        info.size = now.st_size
        tar.addfile(info, content)


def _zip(file: IO[bytes], members: Iterator[tuple[str, str, os.stat_result]], form: str) -> int:
    count = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION) as target:
        for path, name, status in members:
            if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode):
                _add_to_zip(target, path, name, status)
                count += 1
    return count


def _add_to_zip(target: zipfile.ZipFile, path: str, name: str, status: os.stat_result) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise FileRefused("invalid_path", "a zip archive cannot hold a name that is not UTF-8: use tar.gz", path) from None
    directory = stat.S_ISDIR(status.st_mode)
    info = zipfile.ZipInfo(f"{name}/" if directory else name, max(_OLDEST_IN_ZIP, time.localtime(status.st_mtime)[:6]))
    info.external_attr = (status.st_mode & 0xFFFF) << 16 | 0x10 * directory
    info.compress_type = zipfile.ZIP_DEFLATED
    if directory:
        target.writestr(info, b"")
    elif stat.S_ISLNK(status.st_mode):
        target.writestr(info, os.fsencode(os.readlink(path)))
    else:
        fd, now = open_regular(path)
        info.file_size = now.st_size
        with open(fd, "rb") as content, target.open(info, "w") as member:
            while piece := content.read(CHUNK):
                member.write(piece)


def extract(request: WorkerFrame) -> WorkerFrame:
    """Unpack the archive at `path` into the directory `destination`, which is made if needed.

    Refuses members outside of it, devices, more than `limit` bytes and more than MAX_MEMBERS members. Members before a
    refused one stay. Existing files are replaced only with `overwrite`.
    """
    header = request.header
    destination = header["destination"]
    fd, _ = open_regular(header["path"])
    with open(fd, "rb") as file:
        os.makedirs(destination, exist_ok=True)
        require_directory(destination)
        unpack = _unzip if zipfile.is_zipfile(file) else _untar
        file.seek(0)
        try:
            count, size = unpack(file, os.path.realpath(destination), _Budget(header["limit"]), header.get("overwrite", False))
        except (tarfile.ReadError, zipfile.BadZipFile, EOFError) as error:
            raise FileRefused("decode_error", f"{header['path']!r} is not a readable tar or zip archive: {error}") from None
        except (NotImplementedError, RuntimeError) as error:
            raise FileRefused("decode_error", f"the archive cannot be unpacked: {error}") from None
    return WorkerFrame({"members": count, "size": size})


class _Budget:
    """The bytes and members that may still be unpacked."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.members = 0
        self.size = 0

    def take(self, size: int, members: int = 0) -> None:
        """Count members and bytes; raises at the limit."""
        self.members += members
        self.size += size
        if self.size > self._limit or self.members > MAX_MEMBERS:
            raise FileRefused("no_space_left", f"the archive holds more than {self._limit} bytes or {MAX_MEMBERS} members: raise max_bytes")


def _untar(file: IO[bytes], destination: str, budget: _Budget, overwrite: bool) -> tuple[int, int]:
    with tarfile.open(fileobj=file, mode="r:*") as tar:
        for member in tar:
            budget.take(member.size if member.isreg() else 0, 1)
            try:
                safe = tarfile.data_filter(member, destination)
            except tarfile.FilterError as error:
                raise FileRefused("invalid_path", f"the archive is not safe to unpack: {error}") from None
            place = os.path.join(destination, safe.name)
            _make_room(place, is_directory=safe.isdir(), overwrite=overwrite)
            tar.extract(safe, destination, filter="fully_trusted", set_attrs=True)
    return budget.members, budget.size


def _unzip(file: IO[bytes], destination: str, budget: _Budget, overwrite: bool) -> tuple[int, int]:
    with zipfile.ZipFile(file) as source:
        for info in source.infolist():
            budget.take(0, 1)
            place = _place(destination, info.filename)
            _make_room(place, is_directory=info.is_dir(), overwrite=overwrite)
            mode = info.external_attr >> 16
            if info.is_dir():
                os.makedirs(place, exist_ok=True)
            elif stat.S_ISLNK(mode):
                _unzip_link(source.read(info), place, destination)
            else:
                _unzip_file(source, info, place, mode, budget)
    return budget.members, budget.size


def _place(destination: str, name: str) -> str:
    place = os.path.join(destination, name)
    real = os.path.realpath(os.path.dirname(place.rstrip("/")))
    if name.startswith("/") or ".." in name.split("/") or os.path.commonpath([real, destination]) != destination:
        raise FileRefused("invalid_path", f"the archive is not safe to unpack: {name!r} would land outside")
    return place


def _make_room(place: str, *, is_directory: bool, overwrite: bool) -> None:
    os.makedirs(os.path.dirname(place.rstrip("/")), exist_ok=True)
    if is_directory or not os.path.lexists(place):
        return
    if not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place)
    os.unlink(place)


def _unzip_link(target: bytes, place: str, destination: str) -> None:
    link = os.fsdecode(target)
    real = os.path.realpath(os.path.join(os.path.dirname(place), link))
    if os.path.isabs(link) or os.path.commonpath([real, destination]) != destination:
        raise FileRefused("invalid_path", f"the archive is not safe to unpack: the link {place!r} leads outside")
    os.symlink(link, place)


def _unzip_file(source: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, mode: int, budget: _Budget) -> None:
    with source.open(info) as content, open(place, "xb") as file:
        while piece := content.read(CHUNK):
            budget.take(len(piece))
            file.write(piece)
        if mode & 0o777:
            os.fchmod(file.fileno(), mode & 0o755 | 0o600)
    with suppress(ValueError, OverflowError):
        when = time.mktime((*info.date_time, 0, 0, -1))
        os.utime(place, (when, when))


OPERATIONS = {"archive": archive, "extract": extract}
