"""Checkpoints as one file, to be taken to another box: a compressed tar archive with a record first and a directory for each layer.

Names are `layers/ID/path`. A deleted name is a character device 0/0 and extended attributes are PAX headers, as GNU tar and bsdtar write
them, so that the archive can be looked into with either. The caller is confined to the store (chroot(2)) before it writes or reads one.
"""

import importlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import chain as chain_up
from typing import IO

from sandbox_server.drivers.box.checkpoint_records import Record
from sandbox_server.drivers.box.layer_diff import is_too_long, walk
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.box.xattrs import is_kept

FORMAT = 1
RECORD = "tandem-checkpoint.json"
XATTR = "SCHILY.xattr."


def load() -> None:
    """Import what the module `tarfile` imports only when it compresses."""
    for name in ("zlib", "gzip", "bz2", "lzma"):
        importlib.import_module(name)


def write(store: BoxStore, checkpoint: str, out: IO[bytes], limit: int) -> int:
    """Write a checkpoint with all that it stands on; gives how many layers that are.

    Raises StoreError where its files hold more than `limit` bytes, as sparse ones may, or have paths that no archive could bring back.
    """
    chain = store.chain(store.record(checkpoint).id)
    with tarfile.open(fileobj=out, mode="w|gz", format=tarfile.PAX_FORMAT, compresslevel=1) as archive:
        _write_record(archive, [store.record(one) for one in reversed(chain)])
        for one in reversed(chain):
            layer = store.layer(one)
            for path, status in chain_up(((layer, os.lstat(layer)),), walk(layer)):
                limit -= status.st_size if stat.S_ISREG(status.st_mode) else 0
                if limit < 0:
                    raise StoreError("resource_exhausted", "the checkpoint's files hold more than the quota of checkpoints")
                if is_too_long(path):
                    raise StoreError("conflict", f"the checkpoint has paths that are too long or too deep: {path[len(layer) :][:200]}...")
                if not stat.S_ISSOCK(status.st_mode):
                    _write_entry(archive, path, f"layers/{one}{path[len(layer) :]}")
                    archive.members.clear()  # type: ignore[attr-defined] # else it keeps them all
    return len(chain)


def _write_record(archive: tarfile.TarFile, records: Sequence[Record]) -> None:
    content = json.dumps({"format": FORMAT, "checkpoints": [asdict(record) for record in records]}, indent=1).encode()
    member = tarfile.TarInfo(RECORD)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _write_entry(archive: tarfile.TarFile, path: str, name: str) -> None:
    member = archive.gettarinfo(path, name)
    member.pax_headers = {XATTR + key: value for key, value in _attributes(path)}
    if abs(member.mtime) < 1:
        member.mtime = 0  # else its decimals may have an exponent
    if not member.isreg():
        archive.addfile(member)
        return
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        archive.addfile(member, file)


def _attributes(path: str) -> Iterator[tuple[str, str]]:
    for name in os.listxattr(path, follow_symlinks=False):
        with suppress(OSError):
            value = os.getxattr(path, name, follow_symlinks=False)
            if is_kept(name, value):
                yield name, value.decode("utf-8", "surrogateescape")
