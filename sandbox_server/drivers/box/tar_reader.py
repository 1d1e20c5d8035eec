"""Reads a compressed tar archive that may come from anybody, entry by entry, in bounded memory.

It knows what `archive` writes and no more: the ustar format with extended headers for one entry (pax(1), EXTENDED DESCRIPTION). The module
`tarfile` reads headers of any length into memory, jumps to where they say, and takes a damaged header for the end.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Protocol

BLOCK = 512
MAX_HEADER = 1 << 20
"""Bytes of an extended header: names, and attributes of up to 64 KiB each."""
_READ_BYTES = 256 << 10
_GZIP = 31
"""What zlib calls the format (zlib.h, inflateInit2)."""
_EXTENDED = b"x"
_NUMBERS = ("size", "uid", "gid")
_MAX_DIGITS = 24
_MAX_FRACTION = 40


class ArchiveError(ValueError):
    """It is not such an archive."""


class TooLargeError(Exception):
    """It holds more than is allowed."""


@dataclass(frozen=True)
class TarEntry:
    """One entry: `kind` is its type flag, `mtime` in seconds since the epoch, names are bytes as the file system has them."""

    name: bytes
    kind: bytes
    mode: int
    uid: int
    gid: int
    size: int
    mtime: float
    link: bytes
    device: tuple[int, int]
    extended: Mapping[str, bytes] = field(default_factory=dict)


class Inflated:
    """The content of a gzip file of one member, read once; more than `limit` bytes of it raise TooLargeError."""

    def __init__(self, source: IO[bytes], limit: int) -> None:
        self._source = source
        self._left = limit
        self._inflate = zlib.decompressobj(_GZIP)
        self._held = b""

    def read(self, size: int) -> bytes:
        """Read so many bytes; raises ArchiveError where there are fewer."""
        parts = []
        while size:
            part = self.read_some(size)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def read_some(self, most: int) -> bytes:
        """Read some bytes, at most so many; raises ArchiveError where there are none."""
        while not self._held:
            self._held = self._next()
        part, self._held = self._held[:most], self._held[most:]
        return part

    def _next(self) -> bytes:
        if self._inflate.eof:
            raise ArchiveError("it ends too early")
        packed = self._inflate.unconsumed_tail or self._source.read(_READ_BYTES)
        if not packed:
            raise ArchiveError("it is cut off")
        try:
            found = self._inflate.decompress(packed, _READ_BYTES)
        except zlib.error as error:
            raise ArchiveError(f"it is not compressed as gzip does: {error}") from None
        self._left -= len(found)
        if self._left < 0:
            raise TooLargeError
        return found

    def end(self) -> None:
        """Read the rest, which has to be padding."""
        while not self._inflate.eof or self._held:
            if self._held.strip(b"\0"):
                raise ArchiveError("something comes after its end")
            self._held = b"" if self._inflate.eof else self._next()


class TarSource(Protocol):
    """Where an archive's bytes come from; `Inflated` is one. Each method raises ArchiveError where there are none."""

    def read(self, size: int) -> bytes:
        """Read so many bytes."""

    def read_some(self, most: int) -> bytes:
        """Read some bytes, at most so many."""

    def end(self) -> None:
        """Read the rest, which has to be padding."""


class TarReader:
    """The entries of an archive, in order; the content of one is to be read before the next is asked for."""

    def __init__(self, source: TarSource) -> None:
        self._source = source
        self._left = 0
        """Bytes of the entry that were not read yet."""
        self._padding = 0

    def entries(self) -> Iterator[TarEntry]:
        """Each entry; raises ArchiveError where it is malformed."""
        while (entry := self._next()) is not None:
            self._left, self._padding = entry.size, -entry.size % BLOCK
            yield entry
            self._skip()
        self._source.end()

    def content(self) -> Iterator[bytes]:
        """The content of the entry, in parts."""
        while self._left:
            part = self._source.read_some(min(self._left, _READ_BYTES))
            self._left -= len(part)
            yield part

    def _skip(self) -> None:
        for _ in self.content():
            pass
        self._source.read(self._padding)

    def _next(self) -> TarEntry | None:
        block = self._source.read(BLOCK)
        if not block.strip(b"\0"):
            return None
        entry = _parse(block, {})
        if entry.kind != _EXTENDED:
            return entry
        if entry.size > MAX_HEADER:
            raise ArchiveError("an extended header is too long")
        extended = dict(_records(self._source.read(entry.size)))
        self._source.read(-entry.size % BLOCK)
        return _parse(self._source.read(BLOCK), extended)


def _records(header: bytes) -> Iterator[tuple[str, bytes]]:
    """The records of an extended header, each `LENGTH KEY=VALUE` and a line end."""
    place = 0
    while place < len(header):
        space = header.find(b" ", place, place + _MAX_DIGITS)
        length = _decimal(header[place:space]) if space > place else 0
        record, place = header[space + 1 : place + length], place + length
        key, equals, value = record.partition(b"=")
        if length < 5 or place > len(header) or not equals or not record.endswith(b"\n"):
            raise ArchiveError("an extended header is malformed")
        yield key.decode("utf-8", "replace"), value[:-1]


def _parse(block: bytes, extended: Mapping[str, bytes]) -> TarEntry:
    if block[257:262] != b"ustar":
        raise ArchiveError("a header is of another format")
    if sum(block) - sum(block[148:156]) + 8 * ord(" ") != _octal(block[148:156]):
        raise ArchiveError("a header is damaged")
    name, prefix = _text(block[0:100]), _text(block[345:500])
    size, uid, gid = (
        _decimal(extended[key]) if key in extended else _octal(block[start:stop])
        for key, start, stop in zip(_NUMBERS, (124, 108, 116), (136, 116, 124), strict=True)
    )
    return TarEntry(
        name=extended.get("path", prefix + b"/" + name if prefix else name).rstrip(b"/"),
        kind=block[156:157],
        mode=_octal(block[100:108]) & 0o7777,
        uid=uid,
        gid=gid,
        size=size if block[156:157] in (b"0", b"\0", _EXTENDED) else 0,
        mtime=_seconds(extended["mtime"]) if "mtime" in extended else _octal(block[136:148]),
        link=extended.get("linkpath", _text(block[157:257])),
        device=(_octal(block[329:337]), _octal(block[337:345])),
        extended=extended,
    )


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if digits.strip(b"01234567"):
        raise ArchiveError("a header holds no number where one belongs")
    return int(digits or b"0", 8)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise ArchiveError("an extended header holds no number where one belongs")
    return int(digits)


def _seconds(text: bytes) -> float:
    whole, _, fraction = text.removeprefix(b"-").partition(b".")
    if not whole.isdigit() or len(whole) > _MAX_DIGITS or (fraction and not fraction.isdigit()) or len(fraction) > _MAX_FRACTION:
        raise ArchiveError("an extended header holds no time where one belongs")
    return float(text)
