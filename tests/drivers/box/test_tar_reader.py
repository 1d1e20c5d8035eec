import gzip
import io
import tarfile
import time
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from sandbox_server.drivers.box.tar_reader import MAX_HEADER, ArchiveError, Inflated, TarEntry, TarReader, TooLargeError

LIMIT = 64 << 20


def read(packed: bytes, limit: int = LIMIT) -> list[tuple[TarEntry, bytes]]:
    reader = TarReader(Inflated(io.BytesIO(packed), limit))
    return [(entry, b"".join(reader.content())) for entry in reader.entries()]


def header(change: Callable[[bytearray], None], kind: bytes = b"0", size: int = 0) -> bytes:
    """A block of a header, with its sum put right after a change."""
    info = tarfile.TarInfo("name")
    info.type, info.size = kind, size
    block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    change(block)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def put(place: int, content: bytes) -> Callable[[bytearray], None]:
    def change(block: bytearray) -> None:
        block[place : place + len(content)] = content

    return change


def same(_: bytearray) -> None:
    """Change nothing."""


def pax(records: bytes) -> bytes:
    padded = records + b"\0" * (-len(records) % 512)
    return header(same, b"x", len(records)) + padded


def record(key: bytes, value: bytes) -> bytes:
    length = len(key) + len(value) + 3
    while len(b"%d" % length) + len(key) + len(value) + 3 != length:
        length = len(b"%d" % length) + len(key) + len(value) + 3
    return b"%d %s=%s\n" % (length, key, value)


END = b"\0" * 1024


def test_what_tarfile_writes_is_read_whole() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("d/" * 120 + "ä" * 100)
        info.size, info.mtime, info.uid, info.mode = 5, -1.25, 3_000_000, 0o4755
        info.pax_headers = {"SCHILY.xattr.user.x": b"\xff\0=\n".decode("utf-8", "surrogateescape")}
        archive.addfile(info, io.BytesIO(b"12345"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "x" * 300
        archive.addfile(link)
    (file, content), (symlink, _) = read(out.getvalue())
    assert (file.name.decode(), content) == ("d/" * 120 + "ä" * 100, b"12345")
    assert (file.mtime, file.uid, file.mode) == (-1.25, 3_000_000, 0o4755)
    assert file.extended["SCHILY.xattr.user.x"] == b"\xff\0=\n"
    assert (symlink.kind, symlink.link) == (b"2", b"x" * 300)


WRONG = {
    "nothing": b"",
    "no end": header(same),
    "a block that is cut off": header(same)[:300],
    "a sum that is wrong": header(same)[:-1] + b"x" + END,
    "another format": header(put(257, b"gnuta")) + END,
    "a number below zero": header(put(124, b"\xff" * 12)) + END,
    "a number in base 256": header(put(124, b"\x80" + b"\0" * 10 + b"\x01")) + END,
    "a number that is none": header(put(108, b"9999999")) + END,
    "a size beyond its end": header(put(124, b"77777777777")) + END,
    "an extended header that is too long": header(same, b"x", MAX_HEADER + 1) + b"\0" * 2 * MAX_HEADER,
    "an extended header that is last": pax(record(b"path", b"x")) + END,
    "an extended header of another": pax(record(b"path", b"x")) + pax(record(b"path", b"x")) + header(same)[:100],
    "a record longer than its header": pax(b"999 path=x\n") + header(same) + END,
    "a record of no length": pax(b"0 path=x\n") + header(same) + END,
    "a record of a huge length": pax(b"9" * 400 + b" path=x\n") + header(same) + END,
    "a record with no value": pax(b"8 path\n\n") + header(same) + END,
    "a size that is below zero": pax(record(b"size", b"-1")) + header(same) + END,
    "a size of many digits": pax(record(b"size", b"9" * 5000)) + header(same) + END,
    "a time that is none": pax(record(b"mtime", b"nan")) + header(same) + END,
    "a time with an exponent": pax(record(b"mtime", b"1e999")) + header(same) + END,
    "something after its end": header(same) + END + b"x" * 512,
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_what_is_malformed_is_refused_at_once(content: bytes) -> None:
    began = time.thread_time()
    with pytest.raises(ArchiveError):
        read(gzip.compress(content))
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("cut", [1, 4, 8, 20])
def test_an_archive_whose_end_was_cut_off_is_refused(cut: int) -> None:
    with pytest.raises(ArchiveError):
        read(gzip.compress(header(same) + END)[:-cut])


@pytest.mark.parametrize(
    "packed", [b"x" * 1000, b"\x1f\x8b\x08\x08" + b"x" * 100_000, zlib.compress(END), gzip.compress(END)[:-8] + b"\0" * 8]
)
def test_what_is_not_compressed_so_is_refused(packed: bytes) -> None:
    with pytest.raises(ArchiveError):
        read(packed)


def test_a_bomb_ends_at_the_limit_and_takes_little_memory() -> None:
    packed = gzip.compress(header(put(124, b"77777777777")) + b"\0" * (200 << 20))
    tracemalloc.start()
    reader = TarReader(Inflated(io.BytesIO(packed), LIMIT))
    with pytest.raises(TooLargeError):
        list(map(str, reader.entries()))
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
