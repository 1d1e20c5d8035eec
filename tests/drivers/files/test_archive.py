import io
import os
import shutil
import socket
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.core.errors import FileError
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import ArchiveFormat

pytestmark = pytest.mark.anyio
LIMIT = 1 << 20


@pytest.fixture
def tree(home: Path) -> Path:
    (home / "t/sub").mkdir(parents=True)
    (home / "t/run.sh").write_bytes(b"#!/bin/sh\n")
    (home / "t/run.sh").chmod(0o755)
    (home / "t/sub/data").write_bytes(os.urandom(100_000))
    (home / "t/sub/link").symlink_to("../run.sh")
    (home / "t/empty").mkdir()
    return home / "t"


@pytest.mark.parametrize("form", ["tar", "tar.gz", "zip"])
async def test_what_is_packed_comes_out_as_it_was(files: Files, home: Path, tree: Path, form: ArchiveFormat) -> None:
    _, members = await files.access("archive").archive([str(tree)], f"{home}/out/a", form)
    assert members == 6

    unpacked, size = await files.access("extract").extract(f"{home}/out/a", f"{home}/back", limit=LIMIT)

    assert (unpacked, size) >= (6, 100_010)
    back = home / "back/t"
    assert (back / "sub/data").read_bytes() == (tree / "sub/data").read_bytes()
    assert stat.S_IMODE((back / "run.sh").stat().st_mode) == 0o755
    assert os.readlink(back / "sub/link") == "../run.sh"
    assert (back / "empty").is_dir()
    assert (back / "sub/data").owner() == home.owner()


@pytest.mark.parametrize("form", ["tar.gz", "zip"])
async def test_excluded_files_and_the_archive_itself_are_left_out(files: Files, home: Path, tree: Path, form: ArchiveFormat) -> None:
    shutil.chown(tree, "gem")
    target = tree / "backup"
    await files.access("archive").archive([str(tree)], str(target), form, exclude=["sub"])
    _, members = await files.access("archive").archive([str(tree)], str(target), form, exclude=["sub"], overwrite=True)
    assert members == 3


async def test_an_archive_does_not_replace_a_file_unless_it_is_told_to(files: Files, home: Path, tree: Path) -> None:
    (home / "a").write_bytes(b"kept")
    with pytest.raises(FileError) as error:
        await files.access("archive").archive([str(tree)], f"{home}/a", "zip")
    assert error.value.error_type == "already_exists"
    assert (home / "a").read_bytes() == b"kept"


async def test_sockets_are_left_out_and_pipes_are_not_waited_for(files: Files, home: Path, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{tree}/socket")
        _, in_tar = await files.access("archive").archive([str(tree)], f"{home}/a.tar", "tar")
        _, in_zip = await files.access("archive").archive([str(tree)], f"{home}/a.zip", "zip")
    assert (in_tar, in_zip) == (7, 6)


async def test_a_name_that_is_not_utf8_goes_into_a_tar_and_is_refused_for_a_zip(files: Files, home: Path, tree: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    (tree / odd).write_bytes(b"x")
    access = files.access("archive")
    await access.archive([str(tree)], f"{home}/a.tar.gz", "tar.gz")
    await access.extract(f"{home}/a.tar.gz", f"{home}/back", limit=LIMIT)
    assert (home / "back/t" / odd).read_bytes() == b"x"
    with pytest.raises(FileError, match=r"use tar\.gz"):
        await access.archive([str(tree)], f"{home}/a.zip", "zip")
    assert not (home / "a.zip").exists()


def evil_tar(*members: tuple[str, bytes, str]) -> bytes:
    """Make a tar of (name, type, link target)."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            tar.addfile(info)
    return file.getvalue()


def evil_zip(*members: tuple[str, int, bytes]) -> bytes:
    """Make a zip of (name, mode, content)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for name, mode, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            target.writestr(info, content)
    return file.getvalue()


@pytest.mark.parametrize(
    "make",
    [
        lambda: evil_tar(("../outside", tarfile.REGTYPE, "")),
        lambda: evil_tar(("link", tarfile.SYMTYPE, "/"), ("link/outside", tarfile.REGTYPE, "")),
        lambda: evil_tar(("up", tarfile.SYMTYPE, ".."), ("up/outside", tarfile.REGTYPE, "")),
        lambda: evil_tar(("hard", tarfile.LNKTYPE, "../victim")),
        lambda: evil_tar(("device", tarfile.CHRTYPE, "")),
        lambda: evil_zip(("../outside", 0o100644, b"")),
        lambda: evil_zip(("/tmp/outside", 0o100644, b"")),
        lambda: evil_zip(("up", 0o120777, b".."), ("up/outside", 0o100644, b"")),
        lambda: evil_zip(("etc", 0o120777, b"/etc")),
    ],
)
async def test_nothing_is_unpacked_outside(files: Files, home: Path, make: Callable[[], bytes]) -> None:
    (home / "victim").write_bytes(b"untouched")
    (home / "evil").write_bytes(make())
    with pytest.raises(FileError, match="not safe to unpack") as error:
        await files.access("extract").extract(f"{home}/evil", f"{home}/in", limit=LIMIT)
    assert error.value.error_type == "invalid_path"
    assert sorted(path.name for path in home.iterdir()) == ["evil", "in", "victim"]
    assert (home / "victim").read_bytes() == b"untouched"


@pytest.mark.parametrize("form", ["tar.gz", "zip"])
async def test_an_archive_that_unpacks_to_too_much_is_refused(files: Files, home: Path, form: ArchiveFormat) -> None:
    (home / "zeros").write_bytes(bytes(LIMIT + 1))
    await files.access("archive").archive([f"{home}/zeros"], f"{home}/bomb", form)
    with pytest.raises(FileError, match="raise max_bytes") as error:
        await files.access("extract").extract(f"{home}/bomb", f"{home}/in", limit=LIMIT)
    assert error.value.error_type == "no_space_left"


async def test_unpacking_does_not_replace_unless_it_is_told_to(files: Files, home: Path, tree: Path) -> None:
    access = files.access("extract")
    await access.archive([str(tree)], f"{home}/a", "zip")
    await access.extract(f"{home}/a", f"{home}/in", limit=LIMIT)
    with pytest.raises(FileError) as error:
        await access.extract(f"{home}/a", f"{home}/in", limit=LIMIT)
    assert error.value.error_type == "already_exists"
    await access.extract(f"{home}/a", f"{home}/in", limit=LIMIT, overwrite=True)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken", b"\x1f\x8b broken"])
async def test_what_is_no_archive_says_so(files: Files, home: Path, content: bytes) -> None:
    (home / "a").write_bytes(content)
    with pytest.raises(FileError, match="not a readable") as error:
        await files.access("extract").extract(f"{home}/a", f"{home}/in", limit=LIMIT)
    assert error.value.error_type == "decode_error"
