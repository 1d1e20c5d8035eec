"""Takes a checkpoint in from an archive that may come from anybody. The caller is confined to the store (chroot(2)) before."""

import errno
import json
import os
import stat
from collections.abc import Mapping, Sequence
from typing import IO

from sandbox_server.drivers.box import resolve_beneath
from sandbox_server.drivers.box.archive import FORMAT, RECORD, XATTR
from sandbox_server.drivers.box.checkpoint_records import Record, is_time, text_of
from sandbox_server.drivers.box.disk_reserve import FULL
from sandbox_server.drivers.box.layer_diff import MAX_LEVELS, MAX_PATH
from sandbox_server.drivers.box.layer_store import MAX_DEPTH, BoxStore, StoreError
from sandbox_server.drivers.box.mount_plan import LayeredPart
from sandbox_server.drivers.box.tar_reader import ArchiveError, Inflated, TarEntry, TarReader, TooLargeError
from sandbox_server.drivers.box.xattrs import is_kept, is_left_out

MAX_RECORD = 1 << 20
MAX_ENTRIES = 2_000_000
MAX_OVERHEAD = 4096
"""Bytes of headers for one entry, on average."""
MAX_USER = (1 << 32) - 2
_REGULAR, _LINK, _SYMLINK, _DEVICE, _DIRECTORY, _PIPE = b"0", b"1", b"2", b"3", b"5", b"6"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read(store: BoxStore, source: IO[bytes], label: str | None, who: str, quota: int, parts: Sequence[LayeredPart] = ()) -> Record:
    """Add the checkpoints of an archive under new names and give the last; raises StoreError for what is no such archive.

    `quota` is how many bytes its files may hold together, `parts` are what the layers of this box are mounted as.
    """
    drafts: dict[str, str] = {}
    try:
        reader = TarReader(Inflated(source, quota + MAX_ENTRIES * MAX_OVERHEAD))
        entries = reader.entries()
        records = _read_record(next(entries, None), reader)
        drafts |= {record.id: store.make_draft() for record in records}
        filling = _Filling(drafts, reader, quota, parts)
        for entry in entries:
            filling.add(entry)
        return _adopt(store, records, drafts, label, who)
    except TooLargeError:
        raise StoreError("resource_exhausted", "the archive holds more than the quota leaves") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise StoreError("invalid_argument", f"not a checkpoint's archive: {error}"[:500]) from error
    except OSError as error:
        kind = "resource_exhausted" if error.errno in FULL else "invalid_argument"
        raise StoreError(kind, f"the archive cannot be taken in: {error.strerror or error}") from error
    finally:
        store.drop(drafts.values())


def _read_record(entry: TarEntry | None, reader: TarReader) -> list[Record]:
    if entry is None or entry.name != RECORD.encode() or entry.size > MAX_RECORD:
        raise ArchiveError(f"it does not begin with {RECORD}")
    content = json.loads(b"".join(reader.content()))
    found = content["checkpoints"] if isinstance(content, dict) else None
    if not isinstance(found, list) or content["format"] != FORMAT or not found:
        raise ArchiveError("its record is of another format, or of no checkpoints")
    if len(found) > MAX_DEPTH:
        raise ArchiveError(f"it holds {len(found)} checkpoints on one another, and a box can stand on {MAX_DEPTH}")
    records = [Record.loads(one) for one in found]
    if len({record.id for record in records}) < len(records):
        raise ArchiveError("it holds a checkpoint twice")
    return records


def _adopt(store: BoxStore, records: Sequence[Record], drafts: Mapping[str, str], label: str | None, who: str) -> Record:
    added: list[Record] = []
    try:
        for record in records:
            named = text_of(label) if label and record is records[-1] else record.label
            parent = added[-1].id if added else None
            added.append(store.adopt(drafts[record.id], named, who, "imported", parent))
    except OSError:
        for done in reversed(added):
            store.forget(done.id)
        raise
    return added[-1]


class _Filling:
    """Puts entries into `drafts`, the directories of the layers by their names in the archive. No link in them is followed."""

    def __init__(self, drafts: Mapping[str, str], reader: TarReader, quota: int, parts: Sequence[LayeredPart]) -> None:
        self._drafts = drafts
        self._reader = reader
        self._left = quota
        self._entries = 0
        self._parts = [part.path.rstrip("/") + "/" for part in parts]

    def add(self, entry: TarEntry) -> None:
        """Make what an entry tells of."""
        self._count(entry)
        layer, path = self._split(entry.name)
        if not path:
            if entry.kind != _DIRECTORY:
                raise ArchiveError("a layer is no directory")
            _finish_directory(os.open(self._drafts[layer], resolve_beneath.DIRECTORY), entry)
            return
        folder, name = os.path.split(path)
        place = resolve_beneath.open_directory(self._drafts[layer], folder)
        try:
            self._make(entry, layer, path, place, name)
        finally:
            os.close(place)

    def _count(self, entry: TarEntry) -> None:
        self._left -= entry.size
        self._entries += 1
        if self._left < 0 or self._entries > MAX_ENTRIES:
            raise TooLargeError
        if max(entry.uid, entry.gid) > MAX_USER or not is_time(entry.mtime):
            raise ArchiveError("an entry has a user, a group or a time that no file has")

    def _split(self, name: bytes) -> tuple[str, str]:
        """The layer and the path in it of what an entry is called."""
        top, _, rest = os.fsdecode(name).partition("/")
        layer, _, path = rest.partition("/")
        if top != "layers" or layer not in self._drafts or len(name) > MAX_PATH or path.count("/") > MAX_LEVELS:
            raise ArchiveError(f"{name[:200]!r} is outside the layers")
        if path and any(part in ("", ".", "..") for part in path.split("/")):
            raise ArchiveError(f"{name[:200]!r} is no path in a layer")
        return layer, path

    def _make(self, entry: TarEntry, layer: str, path: str, place: int, name: str) -> None:
        if entry.kind == _DIRECTORY:
            _make_directory(place, name)
            _finish_directory(os.open(name, resolve_beneath.DIRECTORY, dir_fd=place), entry)
            return
        whiteout = entry.kind == _DEVICE and entry.device == (0, 0)
        if not whiteout and any(part.startswith(f"/{path}/") for part in self._parts):
            raise ArchiveError(f"/{path} is no directory, and something is mounted there")
        if entry.kind in (_REGULAR, b"\0"):
            self._write(entry, place, name)
        elif entry.kind == _LINK:
            self._link(entry, layer, place, name)
        elif whiteout:
            os.mknod(name, stat.S_IFCHR, 0, dir_fd=place)
        elif entry.kind == _SYMLINK:
            os.symlink(entry.link, os.fsencode(name), dir_fd=place)
            _finish(place, name, entry)
        elif entry.kind == _PIPE:
            os.mkfifo(name, 0o600, dir_fd=place)
            _finish(place, name, entry)
        else:
            raise ArchiveError(f"/{path} is of a type that no checkpoint holds")

    def _write(self, entry: TarEntry, place: int, name: str) -> None:
        fd = os.open(name, _NEW_FILE, 0o600, dir_fd=place)
        with open(fd, "wb") as file:
            file.writelines(self._reader.content())
            file.flush()
            _finish_open(fd, entry)

    def _link(self, entry: TarEntry, layer: str, place: int, name: str) -> None:
        other, path = self._split(entry.link)
        if other != layer or not path:
            raise ArchiveError(f"{entry.link[:200]!r} is in another layer")
        folder, linked = os.path.split(path)
        source = resolve_beneath.open_directory(self._drafts[layer], folder)
        try:
            os.link(linked, name, src_dir_fd=source, dst_dir_fd=place, follow_symlinks=False)
        finally:
            os.close(source)


def _make_directory(place: int, name: str) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=place)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
            raise


def _finish_directory(fd: int, entry: TarEntry) -> None:
    try:
        _finish_open(fd, entry)
    finally:
        os.close(fd)


def _finish_open(fd: int, entry: TarEntry) -> None:
    os.fchown(fd, entry.uid, entry.gid)
    os.fchmod(fd, entry.mode)
    for name, value in _attributes(entry):
        try:
            os.setxattr(fd, name, value)
        except OSError as error:
            if error.errno != errno.ENOTSUP:
                raise
            raise ArchiveError(f"the attribute {name!r} cannot be kept here") from None
    os.utime(fd, (entry.mtime, entry.mtime))


def _finish(place: int, name: str, entry: TarEntry) -> None:
    """Finish what has no attributes."""
    os.chown(name, entry.uid, entry.gid, dir_fd=place, follow_symlinks=False)
    if not stat.S_ISLNK(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
        os.chmod(name, entry.mode, dir_fd=place)
    os.utime(name, (entry.mtime, entry.mtime), dir_fd=place, follow_symlinks=False)


def _attributes(entry: TarEntry) -> list[tuple[str, bytes]]:
    found = [(key.removeprefix(XATTR), value) for key, value in entry.extended.items() if key.startswith(XATTR)]
    for name, value in found:
        if not is_kept(name, value) and not is_left_out(name):
            raise ArchiveError(f"no checkpoint holds the attribute {name[:200]!r}")
    return [(name, value) for name, value in found if is_kept(name, value)]
