"""A version of a folder: which files it has, by their digests. Whatever a store gives is checked before it is believed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_VERSION_BYTES = 32 << 20
"""Limit in bytes of a version as a store has it."""
MAX_PATH_BYTES = 1024
MAX_DEPTH = 64
MAX_LINEAGE = 64
_DIGITS = frozenset("0123456789abcdef")
_HIGHEST = 9_999_999_999
"""Highest number of a version."""


class StoreAwayError(Exception):
    """The store did not answer, or answered that it cannot. The text holds no credentials and nothing of its answer."""


class DamagedError(ValueError):
    """What the store gave is not what it says. The text names what is wrong."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A regular file: bytes, SHA-256 in hexadecimal, and whether its owner may execute it."""

    size: int
    digest: str
    executable: bool = False


type Files = Mapping[str, FileRecord]
"""Files by their paths relative to the folder."""


@dataclass(frozen=True, slots=True)
class Version:
    """All files of a folder at one time; `number` counts from 1, and 0 is the empty one that no store has."""

    number: int = 0
    files: Files = field(default_factory=dict)
    lineage: str = ""
    """Random, of the first version, and the same in all that follow it: in a store that was emptied another begins."""

    def encode(self) -> bytes:
        """Return it as JSON."""
        files = {path: [record.size, record.digest, record.executable] for path, record in sorted(self.files.items())}
        return json.dumps({"format": 1, "number": self.number, "lineage": self.lineage, "files": files}, separators=(",", ":")).encode()


def blob_key(digest: str) -> str:
    """Return the name of a file's content in a store."""
    return f"blobs/{digest}"


def version_key(number: int) -> str:
    """Return the name of a version in a store: the newest is the first in the order of names."""
    return f"versions/{_HIGHEST - number:010d}.json"


def number_of(key: str) -> int | None:
    """Return the number of the version with this name; None if it is no version's."""
    digits = key.removeprefix("versions/").removesuffix(".json")
    whole = len(digits) == 10 and digits.isascii() and digits.isdecimal() and key == f"versions/{digits}.json"
    return _HIGHEST - int(digits) if whole else None


def decode(content: bytes, number: int, *, max_files: int, max_bytes: int) -> Version:
    """Read a version. Raises DamagedError where it is not one, has another number, or more than fits in the limits."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        raise DamagedError("a version is not JSON") from None
    files = told.get("files") if isinstance(told, dict) and told.get("format") == 1 else None
    if not isinstance(files, dict) or told.get("number") != number or not isinstance(told.get("lineage"), str):
        raise DamagedError(f"version {number} is not a version of that number")
    if len(files) > max_files:
        raise DamagedError(f"version {number} has more than {max_files} files")
    read = {path: _record(path, each) for path, each in files.items()}
    if sum(record.size for record in read.values()) > max_bytes:
        raise DamagedError(f"version {number} has more than {max_bytes} bytes")
    return Version(number, read, told["lineage"][:MAX_LINEAGE])


def _record(path: str, told: Any) -> FileRecord:
    if not is_kept(path):
        raise DamagedError(f"a version has the path {path[:200]!r}, which is outside of the folder or too long")
    match told:
        case [int(size), str(digest), bool(executable)] if size >= 0 and len(digest) == 64 and _DIGITS.issuperset(digest):
            return FileRecord(size, digest, executable)
    raise DamagedError(f"a version says of {path[:200]!r} what is no size, digest and mode")


def is_kept(path: str) -> bool:
    """Whether a relative path is one that can be kept: within the folder, and not too long or deep."""
    parts = path.split("/")
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return False
    return length <= MAX_PATH_BYTES and len(parts) <= MAX_DEPTH and "\0" not in path and not {"", ".", ".."}.intersection(parts)
