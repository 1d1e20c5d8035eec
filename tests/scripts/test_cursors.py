"""`scripts/cursors` leaves the pictures of two sizes in a theme's cursors, and every name of a cursor."""

import struct
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "cursors"
IMAGE, COMMENT = 0xFFFD0002, 0xFFFE0001


def cursor(*sizes: int) -> bytes:
    """A file of the format Xcursor with a picture of each size, whose pixels say which, and a comment."""
    chunks = [(COMMENT, 1, struct.pack("<5I", 20, COMMENT, 1, 1, 4) + b"text")]
    chunks += [
        (IMAGE, size, struct.pack("<9I", 36, IMAGE, size, 1, size, size, 1, 2, 50) + bytes([size]) * size * size * 4) for size in sizes
    ]
    start, entries = 16 + 12 * len(chunks), b""
    for kind, size, chunk in chunks:
        entries += struct.pack("<3I", kind, size, start)
        start += len(chunk)
    return struct.pack("<4s3I", b"Xcur", 16, 0x10000, len(chunks)) + entries + b"".join(chunk for _, _, chunk in chunks)


def pictures(content: bytes) -> list[tuple[int, ...]]:
    """Width, height, place of the point, delay and first pixel of each picture."""
    found = []
    for number in range(struct.unpack_from("<I", content, 12)[0]):
        kind, size, start = struct.unpack_from("<3I", content, 16 + 12 * number)
        header = struct.unpack_from("<9I", content, start)
        assert (kind, header[1], header[2]) == (IMAGE, IMAGE, size)
        found.append((*header[4:], content[start + 36]))
        assert len(content) >= start + 36 + size * size * 4
    return found


def test_two_sizes_stay_with_their_pixels_and_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "wait").write_bytes(cursor(24, 30, 24, 48, 96))
    (tmp_path / "watch").symlink_to("wait")

    subprocess.run([SCRIPT, tmp_path], check=True, timeout=60)

    assert pictures((tmp_path / "wait").read_bytes()) == [(24, 24, 1, 2, 50, 24), (24, 24, 1, 2, 50, 24), (48, 48, 1, 2, 50, 48)]
    assert (tmp_path / "watch").is_symlink()


def test_a_cursor_of_other_sizes_alone_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "wait").write_bytes(cursor(32))
    subprocess.run([SCRIPT, tmp_path], check=True, timeout=60)
    assert (tmp_path / "wait").read_bytes() == cursor(32)


def test_what_is_no_cursor_ends_it(tmp_path: Path) -> None:
    (tmp_path / "wait").write_bytes(b"nothing of the kind, though it is long enough")
    assert subprocess.run([SCRIPT, tmp_path], check=False, capture_output=True, timeout=60).returncode == 1
