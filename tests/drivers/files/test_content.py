import errno
import os
import socket
from pathlib import Path

import pytest

from sandbox_server.core.errors import FileError
from sandbox_server.drivers.files.files import Files

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("content", [b"", b"no newline", b"a\r\nb\r\n", b"\0\xff\xfe", b"x" * 300_000 + b"\n"])
async def test_a_file_is_read_byte_for_byte(files: Files, home: Path, content: bytes) -> None:
    (home / "f").write_bytes(content)
    read, status = await files.access("read").read(f"{home}/f")
    assert (read, status.size, status.type) == (content, len(content), "file")


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [(0, 1, b"a\n"), (1, 3, b"b\r\nc"), (2, None, b"c"), (3, None, b""), (1, 1, b""), (0, 99, b"a\nb\r\nc")],
)
async def test_lines_are_counted_from_zero_and_the_stop_is_not_included(
    files: Files, home: Path, start: int, stop: int | None, expected: bytes
) -> None:
    (home / "f").write_bytes(b"a\nb\r\nc")
    read, _, whole = await files.access("read").read_lines(f"{home}/f", start, stop)
    assert (read, whole) == (expected, False)


async def test_a_line_of_a_huge_file_is_read_without_reading_it_all(files: Files, home: Path) -> None:
    with open(home / "f", "wb") as file:
        file.write(b"x" * (1 << 20) + b"\nwanted\n")
        file.truncate(1 << 34)
    read, _, _ = await files.access("read").read_lines(f"{home}/f", 1, 2, limit=100)
    assert read == b"wanted\n"


async def test_lines_of_utf16_are_left_to_who_decodes_it(files: Files, home: Path) -> None:
    (home / "f").write_bytes("a\nb\n".encode("utf-16"))
    read, _, whole = await files.access("read").read_lines(f"{home}/f", 1, 2)
    assert (read, whole) == ("a\nb\n".encode("utf-16"), True)


async def test_more_than_the_limit_is_an_error_not_a_part(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"x" * 101)
    with pytest.raises(FileError) as error:
        await files.access("read").read(f"{home}/f", limit=100)
    assert (error.value.errno, error.value.error_type) == (errno.EFBIG, "io_error")
    assert "start_line" in (error.value.hint or "")


async def test_a_file_of_the_kernel_is_read_although_it_says_it_is_empty(files: Files) -> None:
    read, status = await files.access("read").read("/proc/sys/kernel/ostype")
    assert (read, status.size) == (b"Linux\n", 0)


async def test_a_pipe_is_refused_at_once(files: Files, home: Path) -> None:
    os.mkfifo(home / "pipe")
    with pytest.raises(FileError, match="is a named pipe, not a regular file") as error:
        await files.access("read").read(f"{home}/pipe")
    assert error.value.error_type == "invalid_target"


async def test_devices_and_sockets_are_refused(files: Files, home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{home}/socket")
        for path, kind in ((f"{home}/socket", "a socket"), ("/dev/zero", "a device")):
            with pytest.raises(FileError, match=f"is {kind}") as error:
                await files.access("read").read(path)
            assert error.value.error_type == "invalid_target"


@pytest.mark.parametrize(
    ("name", "kind", "number"),
    [
        ("missing", "not_found", errno.ENOENT),
        ("file/below", "invalid_target", errno.ENOTDIR),
        (".", "invalid_target", errno.EISDIR),
        ("loop", "invalid_path", errno.ELOOP),
        ("n" * 300, "invalid_path", errno.ENAMETOOLONG),
        ("secret", "permission_denied", errno.EACCES),
    ],
)
async def test_what_cannot_be_read_says_why(files: Files, home: Path, name: str, kind: str, number: int) -> None:
    (home / "file").write_bytes(b"")
    (home / "loop").symlink_to("loop")
    (home / "secret").write_bytes(b"")
    (home / "secret").chmod(0)
    with pytest.raises(FileError) as error:
        await files.access("read").read(f"{home}/{name}")
    assert (error.value.error_type, error.value.errno) == (kind, number)
    assert error.value.message.startswith(f"Failed to read file: [Errno {number}]")


async def test_a_name_that_is_not_utf8_is_read_by_the_name_that_a_listing_gave(files: Files, home: Path) -> None:
    Path(os.fsdecode(bytes(home) + b"/caf\xe9")).write_bytes(b"x")
    [entry] = (await files.access("list").walk(str(home), limit=10)).entries
    read, _ = await files.access("read").read(f"{home}/{entry.path}")
    assert read == b"x"


@pytest.mark.parametrize("path", ["relative", "", "/a\0b"])
async def test_a_path_that_can_be_no_path_is_refused(files: Files, path: str) -> None:
    with pytest.raises(FileError) as error:
        await files.access("read").read(path)
    assert error.value.error_type == "invalid_path"


async def test_a_tilde_is_the_agents_home(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"x")
    assert (await files.access("read").read("~/f"))[0] == b"x"


async def test_a_link_is_described_with_where_it_leads(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"xyz")
    (home / "link").symlink_to("f")
    (home / "broken").symlink_to("nowhere")
    link = await files.access("stat").stat(f"{home}/link", follow=False)
    assert (link.status.type, link.target, link.leads_to, link.real_path) == ("symlink", "f", "file", f"{home}/f")
    assert (await files.access("stat").stat(f"{home}/link")).status.size == 3
    broken = await files.access("stat").stat(f"{home}/broken", follow=False)
    assert (broken.target, broken.leads_to) == ("nowhere", None)


async def test_the_file_system_of_a_file_is_described(files: Files, home: Path) -> None:
    system = (await files.access("stat").stat(str(home))).filesystem
    assert system is not None
    assert 0 < system.free <= system.total
    assert not system.read_only


async def test_an_etag_changes_with_the_content_and_not_with_the_mode(files: Files, home: Path) -> None:
    access = files.access("write")
    first = await access.write(f"{home}/f", b"one")
    (home / "f").chmod(0o600)
    assert (await access.stat(f"{home}/f")).status.etag == first.etag
    assert (await access.write(f"{home}/f", b"two")).etag != first.etag
