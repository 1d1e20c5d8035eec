"""A profile as one stream: a JSON object, then each file as a JSON object of path, size and SHA-256, and its content.

Each object has its length before it, four bytes, big-endian. A length of zero ends the stream. The file is made elsewhere, by whom nobody
knows, so all that it says is checked before the profile appears.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Protocol

from sandbox_server.drivers.profiles.problem import ProfileProblem, damaged, malformed
from sandbox_server.drivers.profiles.tree import MAX_BYTES, MAX_FILES, PIECE, NewTree, TreeFile, check_path, files, pieces

FORMAT = 1
MAX_HEADER = 16 << 10


class Sink(Protocol):
    """Takes the stream."""

    def write(self, content: bytes, /) -> object: ...


def pack(profile: int, sink: Sink, version: str | None) -> int:
    """Write a profile, an open directory that nobody else uses, and return how many files it has. Raises ProfileProblem."""
    _write_header(sink, {"format": FORMAT, "chromium": version})
    count = 0
    for file in files(profile):
        digest = _digest(file)
        _write_header(sink, {"path": file.path, "size": file.size, "sha256": digest})
        written = hashlib.sha256()
        for piece in pieces(file):
            written.update(piece)
            sink.write(piece)
        if written.hexdigest() != digest:
            raise damaged(f"{file.path!r} changed while it was read")
        count += 1
    sink.write(bytes(4))
    return count


def _digest(file: TreeFile) -> str:
    digest = hashlib.sha256()
    for piece in pieces(file):
        digest.update(piece)
    return digest.hexdigest()


def _write_header(sink: Sink, header: dict[str, Any]) -> None:
    content = json.dumps(header).encode()
    sink.write(len(content).to_bytes(4, "big") + content)


class ArchiveReader:
    """Reads a stream of unknown origin."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._waiting = b""
        begin = self._header() or {}
        if begin.get("format") != FORMAT:
            raise malformed("it is of another version")
        version = begin.get("chromium")
        if version is not None and not _is_version(version):
            raise malformed("it names no version of Chromium")
        self.version: str | None = version
        """The version of Chromium that ran on the profile."""

    def unpack(self, tree: NewTree) -> int:
        """Write every file below a new directory, and return how many there were. Raises ProfileProblem for what is not as it says."""
        count = total = 0
        while (header := self._header()) is not None:
            path, size, digest = check_path(header.get("path")), header.get("size"), header.get("sha256")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0 or not isinstance(digest, str):
                raise malformed(f"it says no size and digest of {path!r}")
            count, total = count + 1, total + size
            if count > MAX_FILES or total > MAX_BYTES:
                raise ProfileProblem("too_large", f"the profile has more than {MAX_FILES} files or {MAX_BYTES} bytes", "limit")
            found = hashlib.sha256()
            try:
                tree.write(path, self._content(size, found))
            except (FileExistsError, NotADirectoryError):
                raise malformed(f"it has {path!r} twice") from None
            if found.hexdigest() != digest:
                raise malformed(f"the content of {path!r} has another digest")
        if self._waiting or next((chunk for chunk in self._chunks if chunk), b""):
            raise malformed("it goes on after its end")
        return count

    def _content(self, size: int, digest: "hashlib._Hash") -> Iterator[bytes]:
        while size:
            piece = self._read(min(size, PIECE))
            digest.update(piece)
            size -= len(piece)
            yield piece

    def _header(self) -> dict[str, Any] | None:
        length = int.from_bytes(self._read(4), "big")
        if length == 0:
            return None
        if length > MAX_HEADER:
            raise malformed("a part of it is too long")
        try:
            header = json.loads(self._read(length))
        except (ValueError, RecursionError):
            raise malformed("a part of it is no JSON") from None
        if not isinstance(header, dict):
            raise malformed("a part of it is no object")
        return header

    def _read(self, count: int) -> bytes:
        while len(self._waiting) < count:
            chunk = next(self._chunks, b"")
            if not chunk:
                raise malformed("it ends too early")
            self._waiting += chunk
        content, self._waiting = self._waiting[:count], self._waiting[count:]
        return content


def _is_version(text: object) -> bool:
    parts = text.split(".") if isinstance(text, str) and len(text) < 40 else []
    return len(parts) == 4 and all(part.isascii() and part.isdigit() for part in parts)
