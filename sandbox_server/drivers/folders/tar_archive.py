"""A folder's version as one compressed tar archive, which any program unpacks. What is read may come from anybody.

The first entry is the folder itself; an extended header of it, which other programs pass over, has the version's number and lineage.
"""

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator
from typing import IO

from sandbox_server.drivers.box.tar_reader import ArchiveError, Inflated, TarEntry, TarReader, TooLargeError
from sandbox_server.drivers.folders.agent_tree import EXECUTABLE
from sandbox_server.drivers.folders.places import FolderLimits
from sandbox_server.drivers.folders.version import DamagedError, FileRecord, Version, is_kept

HEADER = "TANDEM.version"
ENTRY_BYTES = 8 << 10
"""Limit in bytes of what an entry has beside its content: headers, names, padding."""
FOREIGN = "foreign-"
_ROOT = ("", ".")
_DIRECTORY, _REGULAR = b"5", (b"0", b"\0")
_MAX_DIGITS = 10


def bytes_of(limits: FolderLimits) -> int:
    """Limit in bytes of the largest folder's archive, whether it is compressed or not."""
    return limits.max_bytes + (limits.max_files + 3) * ENTRY_BYTES


def pack(version: Version, contents: str, target: str) -> None:
    """Write an archive of a version to a new file. `contents` has each file by its digest. Raises DamagedError if one is missing."""
    with tarfile.open(target, "x:gz", format=tarfile.PAX_FORMAT, compresslevel=1) as archive:
        root = tarfile.TarInfo(".")
        root.type, root.mode = tarfile.DIRTYPE, 0o755
        root.pax_headers = {HEADER: f"{version.number} {version.lineage}"}
        archive.addfile(root)
        for path, record in sorted(version.files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = record.size, 0o755 if record.executable else 0o644
            try:
                with open(f"{contents}/{record.digest}", "rb") as content:
                    archive.addfile(entry, content)
            except FileNotFoundError:
                raise DamagedError(f"the store lost the content of {path[:200]!r}") from None


def unpack(source: IO[bytes], contents: str, limits: FolderLimits, tag: str) -> Version:
    """Read an archive: its files go to `contents` by their digests.

    One that another program wrote is version 1 of a lineage of its own, by its `tag`. Raises DamagedError where it is no archive, has
    other entries than files and directories, paths outside of the folder, or more than fits in the limits.
    """
    files: dict[str, FileRecord] = {}
    number, lineage = 1, FOREIGN + hashlib.sha256(tag.encode()).hexdigest()[:32]
    reader = TarReader(Inflated(source, bytes_of(limits)))
    try:
        for entry in reader.entries():
            path = _path(entry)
            if entry.kind == _DIRECTORY:
                if path in _ROOT and HEADER in entry.extended:
                    number, lineage = _told(entry.extended[HEADER])
                continue
            if entry.kind not in _REGULAR or not is_kept(path):
                raise DamagedError(f"the store's archive has {path[:200]!r}, which is no file within the folder")
            files[path] = _keep(reader.content(), contents, executable=bool(entry.mode & EXECUTABLE))
            if len(files) > limits.max_files:
                raise DamagedError(f"the store's archive has more than {limits.max_files} files")
    except ArchiveError as error:
        raise DamagedError(f"the store has no tar archive: {error}") from None
    except TooLargeError:
        raise DamagedError(f"the store's archive has more than {limits.max_bytes} bytes") from None
    return Version(number, files, lineage)


def _path(entry: TarEntry) -> str:
    try:
        return entry.name.decode().removeprefix("./")
    except UnicodeDecodeError:
        raise DamagedError("the store's archive has a name that is not UTF-8") from None


def _told(header: bytes) -> tuple[int, str]:
    digits, _, lineage = header.decode("utf-8", "replace").partition(" ")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS and int(digits) and lineage):
        raise DamagedError("the store's archive does not say which version it is")
    return int(digits), lineage[:64]


def _keep(content: Iterator[bytes], contents: str, *, executable: bool) -> FileRecord:
    digest, size, draft = hashlib.sha256(), 0, f"{contents}/.draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR)
    with open(descriptor, "wb") as file:
        for part in content:
            digest.update(part)
            size += len(part)
            file.write(part)
    os.rename(draft, f"{contents}/{digest.hexdigest()}")
    return FileRecord(size, digest.hexdigest(), executable)
