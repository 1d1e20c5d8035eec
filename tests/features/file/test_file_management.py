import shutil
import socket
from pathlib import Path

import pytest

from sandbox_server.core import FileError, InvalidArgument
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.file.file_management import (
    FileChanges,
    FileChmodRequest,
    FileCopyRequest,
    FileDeleteRequest,
    FileMkdirRequest,
    FileMoveRequest,
    FileStatRequest,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def changes(files: Files) -> FileChanges:
    return FileChanges(files)


def put(path: Path, content: bytes = b"content") -> Path:
    path.write_bytes(content)
    shutil.chown(path, "gem", "gem")
    return path


async def test_a_file_is_described(changes: FileChanges, home: Path) -> None:
    path = put(home / "f")
    path.chmod(0o4750)
    (home / "link").symlink_to("f")
    stat = await changes.stat(FileStatRequest(path=f"{home}/link"))
    assert (stat.type, stat.size, stat.mode, stat.permissions) == ("file", 7, "4750", "-rwsr-x---")
    assert (stat.owner, stat.group, stat.real_path, stat.links) == ("gem", "gem", str(path), 1)
    assert stat.modified_time.endswith("+00:00")
    assert stat.filesystem is not None
    link = await changes.stat(FileStatRequest(path=f"{home}/link", follow_symlinks=False))
    assert (link.type, link.link_target, link.link_leads_to) == ("symlink", "f", "file")


async def test_a_directory_is_made_with_the_mode_that_was_asked_for(changes: FileChanges, home: Path) -> None:
    assert (await changes.mkdir(FileMkdirRequest(path=f"{home}/a/b", mode="0700"))).created
    assert oct((home / "a/b").stat().st_mode) == "0o40700"
    assert not (await changes.mkdir(FileMkdirRequest(path=f"{home}/a/b"))).created


async def test_a_file_is_moved_and_copied_and_deleted(changes: FileChanges, home: Path) -> None:
    put(home / "f")
    copied = await changes.copy(FileCopyRequest(path=f"{home}/f", destination=f"{home}/d/g"))
    assert (copied.data.type, copied.data.size, copied.hint) == ("file", 7, None)
    moved = await changes.move(FileMoveRequest(path=f"{home}/d/g", destination=f"{home}/h"))
    assert moved.etag == copied.data.etag
    assert (await changes.delete(FileDeleteRequest(path=f"{home}/d"))).deleted
    assert sorted(path.name for path in home.iterdir()) == ["f", "h"]
    assert not (await changes.delete(FileDeleteRequest(path=f"{home}/d", missing_ok=True))).deleted


async def test_what_was_not_copied_is_mentioned(changes: FileChanges, home: Path) -> None:
    (home / "d").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{home}/d/socket")
        reply = await changes.copy(FileCopyRequest(path=f"{home}/d", destination=f"{home}/e", recursive=True))
    assert reply.hint == f"Sockets and devices were left out: {home}/d/socket"


async def test_a_mode_is_changed_by_number_or_by_letters(changes: FileChanges, home: Path) -> None:
    put(home / "f")
    result = await changes.chmod(FileChmodRequest(path=f"{home}/f", mode="u=rwx,go="))
    assert (result.mode, result.permissions, result.changed_count) == ("0700", "-rwx------", 1)
    with pytest.raises(FileError, match="is not a mode"):
        await changes.chmod(FileChmodRequest(path=f"{home}/f", mode="wide open"))


async def test_there_must_be_something_to_change(changes: FileChanges, home: Path) -> None:
    with pytest.raises(InvalidArgument):
        await changes.chmod(FileChmodRequest(path=str(home)))


async def test_errors_name_what_was_tried(changes: FileChanges, home: Path) -> None:
    for attempt, operation in (
        (changes.stat(FileStatRequest(path=f"{home}/x")), "stat"),
        (changes.move(FileMoveRequest(path=f"{home}/x", destination=f"{home}/y")), "move"),
        (changes.copy(FileCopyRequest(path=f"{home}/x", destination=f"{home}/y")), "copy"),
        (changes.delete(FileDeleteRequest(path=f"{home}/x")), "delete"),
    ):
        with pytest.raises(FileError, match=f"Failed to {operation} file") as error:
            await attempt
        assert (error.value.error_type, error.value.operation) == ("not_found", operation)
