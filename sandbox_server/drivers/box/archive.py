"""Checkpoints as one file, to be taken to another box: a compressed tar archive with a record first and a directory for each layer.

Names are `layers/ID/path`. A deleted name is a character device 0/0 and extended attributes are PAX headers, as GNU tar and bsdtar write
them, so that the archive can be looked into with either. The caller is confined to the store (chroot(2)) before it reads an archive,
which may come from anybody.
"""

import importlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import IO

from sandbox_server.drivers.box.layers import is_whiteout, walk
from sandbox_server.drivers.box.store import BoxStore, Record, StoreError

FORMAT = 1
RECORD = "tandem-checkpoint.json"
MAX_RECORD = 1 << 20
_XATTR = "SCHILY.xattr."
_COPY_BYTES = 1 << 20


def load() -> None:
    """Import what the module `tarfile` imports only when it compresses."""
    for name in ("zlib", "gzip", "bz2", "lzma"):
        importlib.import_module(name)


def write(store: BoxStore, checkpoint: str, out: IO[bytes]) -> int:
    """Write a checkpoint with all that it stands on; gives how many layers that are."""
    chain = store.chain(store.record(checkpoint).id)
    with tarfile.open(fileobj=out, mode="w|gz", format=tarfile.PAX_FORMAT, compresslevel=1) as archive:
        _write_record(archive, [store.record(one) for one in reversed(chain)])
        for one in reversed(chain):
            layer = store.layer(one)
            for path, status in [(layer, os.lstat(layer)), *walk(layer)]:
                if not stat.S_ISSOCK(status.st_mode):
                    _write_entry(archive, path, f"layers/{one}{path[len(layer) :]}")
    return len(chain)


def _write_record(archive: tarfile.TarFile, records: Sequence[Record]) -> None:
    content = json.dumps({"format": FORMAT, "checkpoints": [asdict(record) for record in records]}, indent=1).encode()
    member = tarfile.TarInfo(RECORD)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _write_entry(archive: tarfile.TarFile, path: str, name: str) -> None:
    member = archive.gettarinfo(path, name)
    member.pax_headers = {_XATTR + key: value for key, value in _attributes(path)}
    if not member.isreg():
        archive.addfile(member)
        return
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        archive.addfile(member, file)


def _attributes(path: str) -> Iterator[tuple[str, str]]:
    for name in os.listxattr(path, follow_symlinks=False):
        with suppress(OSError):
            yield name, os.getxattr(path, name, follow_symlinks=False).decode("utf-8", "surrogateescape")


def read(store: BoxStore, source: IO[bytes], label: str | None, who: str, quota: int) -> Record:
    """Add the checkpoints of an archive under new names and give the last; raises StoreError for what is no such archive.

    `quota` is how many bytes its files may hold together.
    """
    try:
        with tarfile.open(fileobj=source, mode="r|gz") as archive:
            records = _read_record(archive)
            drafts = {record.id: store.make_draft() for record in records}
            while (member := archive.next()) is not None:
                quota -= member.size
                if quota < 0:
                    raise StoreError("resource_exhausted", "the archive holds more than the quota leaves")
                _extract(archive, member, drafts)
    except (tarfile.TarError, EOFError, OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError("invalid_argument", f"not a checkpoint's archive: {error}") from error
    return _adopt(store, records, drafts, label, who)


def _read_record(archive: tarfile.TarFile) -> list[Record]:
    member = archive.next()
    if member is None or member.name != RECORD or member.size > MAX_RECORD or not (file := archive.extractfile(member)):
        raise ValueError(f"it does not begin with {RECORD}")
    content = json.load(file)
    records = [Record(**record) for record in content["checkpoints"]]
    if content["format"] != FORMAT or not records:
        raise ValueError(f"format {content['format']} with {len(records)} checkpoints")
    return records


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, drafts: Mapping[str, str]) -> None:
    target = _target(member.name, drafts)
    mode = stat.S_IMODE(member.mode)
    if member.islnk():
        os.link(_target(member.linkname, drafts), target, follow_symlinks=False)
        return
    if member.isdir():
        with suppress(FileExistsError):
            os.mkdir(target)
    elif member.issym():
        os.symlink(member.linkname, target)
    elif member.isreg():
        _copy(archive, member, target)
    elif member.ischr() and (member.devmajor, member.devminor) == (0, 0):
        os.mknod(target, stat.S_IFCHR | mode, 0)
    elif member.isfifo():
        os.mkfifo(target)
    else:
        raise ValueError(f"{member.name} is of a type that no checkpoint holds")
    _restore_attributes(member, target, mode)


def _target(name: str, drafts: Mapping[str, str]) -> str:
    """Where an entry belongs; its directories must be there, and none of them a link out of the draft."""
    top, _, rest = name.partition("/")
    layer, _, path = rest.partition("/")
    if top != "layers" or layer not in drafts or any(part in ("", ".", "..") for part in path.split("/") if path):
        raise ValueError(f"{name!r} is outside the layers")
    place = drafts[layer]
    for part in path.split("/")[:-1]:
        place = f"{place}/{part}"
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            raise ValueError(f"{name!r} goes through something that is no directory")
    return f"{drafts[layer]}/{path}" if path else drafts[layer]


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
    source = archive.extractfile(member)
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        while source and (chunk := source.read(_COPY_BYTES)):
            file.write(chunk)


def _restore_attributes(member: tarfile.TarInfo, target: str, mode: int) -> None:
    os.chown(target, member.uid, member.gid, follow_symlinks=False)
    status = os.lstat(target)
    if not stat.S_ISLNK(status.st_mode) and not is_whiteout(status):
        os.chmod(target, mode)
    for key, value in member.pax_headers.items():
        if key.startswith(_XATTR):
            os.setxattr(target, key.removeprefix(_XATTR), value.encode("utf-8", "surrogateescape"), follow_symlinks=False)
    os.utime(target, (member.mtime, member.mtime), follow_symlinks=False)


def _adopt(store: BoxStore, records: Sequence[Record], drafts: Mapping[str, str], label: str | None, who: str) -> Record:
    added: Record | None = None
    for record in records:
        named = label if label and record is records[-1] else record.label
        added = store.adopt(drafts[record.id], named, who, "imported", added.id if added else None)
    if added is None:
        raise StoreError("invalid_argument", "the archive holds no checkpoint")
    return added
