"""A fork as one file: an uncompressed tar archive of a manifest and the parts that it names, each with its size and SHA-256.

    tandem-fork.json     the manifest
    state.json           shells and tabs
    checkpoint.tar.gz    the files, as `GET /v1/checkpoints/{id}/archive` gives them
    profile.sealed       the browser's profile, encrypted as its export is; only where it was asked for

The file may come from anybody. Whoever reads it believes a part only after its digest.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any

from sandbox_server.drivers.box.tar_reader import ArchiveError, TarReader

FORMAT = 1
MANIFEST, STATE, CHECKPOINT, PROFILE = "tandem-fork.json", "state.json", "checkpoint.tar.gz", "profile.sealed"
PARTS = (STATE, CHECKPOINT, PROFILE)
"""The parts, in their order. Only the profile may be missing."""
MAX_MANIFEST = 64 << 10
MAX_TEXT = 200
PIECE = 1 << 20
_REGULAR = (b"0", b"\0")


class ForkError(ValueError):
    """It is no fork that can be used; the message says why."""


@dataclass(frozen=True, slots=True)
class ForkPart:
    """One part: its name, bytes and SHA-256 in hexadecimal digits."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ForkManifest:
    """What a fork is of. `profile` is the name of its profile; None without one."""

    version: str
    """The version of Tandem that made it."""
    checkpoint: str
    created: float
    """When, in seconds since the epoch."""
    profile: str | None
    parts: tuple[ForkPart, ...]


@dataclass(frozen=True, slots=True)
class WrittenFork:
    """What was written, and the SHA-256 of all of it."""

    manifest: ForkManifest
    sha256: str


class DigestingWriter:
    """Writes to a file, and computes the SHA-256 of all that was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, content: bytes) -> int:
        """Write it."""
        self._digest.update(content)
        self._size += len(content)
        return self._file.write(content)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._size

    @property
    def sha256(self) -> str:
        """The digest so far, in hexadecimal digits."""
        return self._digest.hexdigest()


def digest_of(name: str, file: IO[bytes]) -> ForkPart:
    """Read a part from its start, and go back there."""
    digest, size = hashlib.sha256(), 0
    file.seek(0)
    while piece := file.read(PIECE):
        digest.update(piece)
        size += len(piece)
    file.seek(0)
    return ForkPart(name, size, digest.hexdigest())


def write(
    out: IO[bytes], version: str, checkpoint: str, created: float, profile: str | None, files: Mapping[str, IO[bytes]]
) -> WrittenFork:
    """Write the parts, each an open file by its name."""
    parts = tuple(digest_of(name, files[name]) for name in PARTS if name in files)
    manifest = ForkManifest(version, checkpoint, created, profile, parts)
    writer = DigestingWriter(out)
    with tarfile.open(fileobj=writer, mode="w|", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload] # it only writes
        content = json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1).encode()
        archive.addfile(_member(MANIFEST, len(content)), io.BytesIO(content))
        for part in parts:
            archive.addfile(_member(part.name, part.bytes), files[part.name])
    out.flush()
    return WrittenFork(manifest, writer.sha256)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


class _Source:
    """A file that is read once, in pieces; what is missing at its end raises ArchiveError."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        content = self._file.read(size)
        if len(content) != size:
            raise ArchiveError("it is cut off")
        return content

    def read_some(self, most: int) -> bytes:
        """Read some bytes, at most so many."""
        content = self._file.read(min(most, PIECE))
        if not content:
            raise ArchiveError("it is cut off")
        return content

    def end(self) -> None:
        """Read the rest, which has to be padding."""
        while piece := self._file.read(PIECE):
            if piece.strip(b"\0"):
                raise ArchiveError("something comes after its end")


def read(source: IO[bytes], files: Mapping[str, IO[bytes]]) -> ForkManifest:
    """Write each part to the open file of its name, and go back to their starts. Raises ForkError for what is not as it says."""
    try:
        reader = TarReader(_Source(source))
        entries = reader.entries()
        entry = next(entries, None)
        if entry is None or entry.name != MANIFEST.encode() or entry.kind not in _REGULAR or entry.size > MAX_MANIFEST:
            raise ForkError(f"it does not begin with {MANIFEST}")
        manifest = _manifest(b"".join(reader.content()))
        expected = iter(manifest.parts)
        for entry in entries:
            part = next(expected, None)
            if part is None or entry.name != part.name.encode() or entry.kind not in _REGULAR or entry.size != part.bytes:
                raise ForkError(f"its entry {entry.name[:100]!r} is not what its manifest says")
            _write_part(reader.content(), part, files[part.name])
    except ArchiveError as error:
        raise ForkError(f"it is no archive of a fork: {error}") from None
    if missing := next(expected, None):
        raise ForkError(f"it has no {missing.name}, which its manifest names")
    return manifest


def _write_part(content: Iterator[bytes], part: ForkPart, file: IO[bytes]) -> None:
    digest = hashlib.sha256()
    for piece in content:
        digest.update(piece)
        file.write(piece)
    file.flush()
    file.seek(0)
    if digest.hexdigest() != part.sha256:
        raise ForkError(f"its {part.name} has another digest than its manifest says")


def _manifest(content: bytes) -> ForkManifest:
    try:
        told = json.loads(content)
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            raise ForkError("it is of another format")
        parts = tuple(_part(each) for each in told["parts"])
        profile = told["profile"]
        made = ForkManifest(_text(told["version"]), _text(told["checkpoint"]), float(told["created"]), profile and _text(profile), parts)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise error if isinstance(error, ForkError) else ForkError("its manifest cannot be read") from None
    if tuple(part.name for part in parts) != (PARTS if profile else PARTS[:2]):
        raise ForkError("its manifest does not name the parts of a fork in their order")
    return made


def _part(told: Any) -> ForkPart:
    size, digest = told["bytes"], told["sha256"]
    if type(size) is not int or size < 0 or not is_sha256(digest):
        raise ForkError("its manifest has no size or no digest of a part")
    return ForkPart(_text(told["name"]), size, digest)


def _text(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        raise ForkError("its manifest has a malformed text")
    return value


def is_sha256(text: object) -> bool:
    """Whether it is a SHA-256 in lower-case hexadecimal digits."""
    return isinstance(text, str) and len(text) == 64 and not text.strip("0123456789abcdef")
