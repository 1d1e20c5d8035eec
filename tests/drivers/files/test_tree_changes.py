import os
import shutil
import socket
from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict, FileError
from sandbox_server.drivers.files.files import Files

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(home: Path) -> Path:
    (home / "t/sub").mkdir(parents=True)
    (home / "t/f").write_bytes(b"content")
    (home / "t/f").chmod(0o640)
    os.utime(home / "t/f", ns=(1, 1_000_000_001))
    (home / "t/sub/link").symlink_to("../f")
    os.mkfifo(home / "t/sub/pipe")
    for path in (home / "t", home / "t/f", home / "t/sub", home / "t/sub/pipe"):
        shutil.chown(path, "gem", "gem")
    return home / "t"


async def test_a_directory_is_made_with_those_above_it(files: Files, home: Path) -> None:
    access = files.access("mkdir")
    assert await access.mkdir(f"{home}/a/b/c", mode=0o700)
    assert oct((home / "a/b/c").stat().st_mode) == "0o40700"
    assert not await access.mkdir(f"{home}/a/b/c")
    with pytest.raises(FileError) as error:
        await access.mkdir(f"{home}/a/b/c", exists_ok=False)
    assert error.value.error_type == "already_exists"
    with pytest.raises(FileError) as error:
        await access.mkdir(f"{home}/x/y", parents=False)
    assert error.value.error_type == "not_found"


async def test_a_directory_cannot_be_made_where_a_file_is(files: Files, home: Path) -> None:
    (home / "f").touch()
    with pytest.raises(FileError) as error:
        await files.access("mkdir").mkdir(f"{home}/f")
    assert error.value.error_type == "already_exists"


async def test_a_tree_is_moved_to_a_new_path(files: Files, home: Path, tree: Path) -> None:
    await files.access("move").move(str(tree), f"{home}/new/place")
    assert (home / "new/place/f").read_bytes() == b"content"
    assert not tree.exists()


async def test_a_move_does_not_replace_unless_it_is_told_to(files: Files, home: Path, tree: Path) -> None:
    access = files.access("move")
    (home / "other").write_bytes(b"kept")
    with pytest.raises(FileError, match="other") as error:
        await access.move(f"{tree}/f", f"{home}/other")
    assert error.value.error_type == "already_exists"
    assert ((home / "other").read_bytes(), (tree / "f").exists()) == (b"kept", True)
    await access.move(f"{tree}/f", f"{home}/other", overwrite=True)
    assert (home / "other").read_bytes() == b"content"


async def test_a_move_to_another_file_system_keeps_everything(files: Files, tree: Path) -> None:
    target = Path("/dev/shm/moved-tree")
    try:
        await files.access("move").move(str(tree), str(target))
        assert (target / "f").read_bytes() == b"content"
        assert os.readlink(target / "sub/link") == "../f"
        assert not tree.exists()
    finally:
        shutil.rmtree(target, ignore_errors=True)


async def test_a_copied_tree_keeps_links_modes_times_and_pipes(files: Files, home: Path, tree: Path) -> None:
    _, left_out = await files.access("copy").copy(str(tree), f"{home}/copy", recursive=True)
    copied = (home / "copy/f").stat()
    assert left_out == []
    assert (home / "copy/f").read_bytes() == b"content"
    assert (oct(copied.st_mode), copied.st_mtime_ns) == ("0o100640", 1_000_000_001)
    assert os.readlink(home / "copy/sub/link") == "../f"
    assert (home / "copy/sub/pipe").is_fifo()


async def test_what_cannot_be_copied_is_named(files: Files, home: Path, tree: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{tree}/socket")
        _, left_out = await files.access("copy").copy(str(tree), f"{home}/copy", recursive=True)
    assert left_out == [f"{tree}/socket"]


async def test_a_directory_is_copied_only_when_asked_and_never_into_itself(files: Files, home: Path, tree: Path) -> None:
    access = files.access("copy")
    with pytest.raises(FileError) as error:
        await access.copy(str(tree), f"{home}/copy")
    assert error.value.error_type == "invalid_target"
    with pytest.raises(FileError, match="is inside"):
        await access.copy(str(tree), f"{tree}/sub/copy", recursive=True)
    assert sorted(path.name for path in (tree / "sub").iterdir()) == ["link", "pipe"]


async def test_a_copy_that_fails_leaves_nothing_at_its_destination(files: Files, home: Path, tree: Path) -> None:
    (tree / "sub/secret").write_bytes(b"")
    (tree / "sub/secret").chmod(0)
    with pytest.raises(FileError) as error:
        await files.access("copy").copy(str(tree), f"{home}/copy", recursive=True)
    assert error.value.error_type == "permission_denied"
    assert sorted(path.name for path in home.iterdir()) == ["t"]


async def test_a_copy_does_not_replace_unless_it_is_told_to(files: Files, home: Path, tree: Path) -> None:
    (home / "other").write_bytes(b"kept")
    shutil.chown(home / "other", "gem", "gem")
    with pytest.raises(FileError):
        await files.access("copy").copy(f"{tree}/f", f"{home}/other")
    assert (home / "other").read_bytes() == b"kept"
    await files.access("copy").copy(f"{tree}/f", f"{home}/other", overwrite=True)
    assert (home / "other").read_bytes() == b"content"


async def test_a_directory_with_entries_is_deleted_only_when_asked(files: Files, tree: Path) -> None:
    access = files.access("delete")
    with pytest.raises(FileError, match="is not empty") as error:
        await access.delete(str(tree))
    assert error.value.error_type == "invalid_target"
    assert await access.delete(str(tree), recursive=True)
    assert not tree.exists()


async def test_deleting_a_link_leaves_what_it_leads_to(files: Files, home: Path, tree: Path) -> None:
    (home / "link").symlink_to("t")
    await files.access("delete").delete(f"{home}/link", recursive=True)
    assert (tree / "f").exists()


async def test_deleting_what_is_not_there_is_an_error_unless_allowed(files: Files, home: Path) -> None:
    with pytest.raises(FileError) as error:
        await files.access("delete").delete(f"{home}/missing")
    assert error.value.error_type == "not_found"
    assert not await files.access("delete").delete(f"{home}/missing", missing_ok=True)


async def test_a_changed_file_is_not_deleted_under_its_old_etag(files: Files, home: Path) -> None:
    access = files.access("delete")
    old = await access.write(f"{home}/f", b"one")
    await access.write(f"{home}/f", b"two")
    with pytest.raises(Conflict):
        await access.delete(f"{home}/f", if_match=old.etag)
    assert (home / "f").exists()


@pytest.mark.parametrize("path", ["/", "//", "/usr/.."])
async def test_the_root_directory_is_never_deleted(files: Files, path: str) -> None:
    with pytest.raises(FileError, match="root directory"):
        await files.access("delete", sudo=True).delete(path, recursive=True)


async def test_modes_are_changed_below_a_directory_but_not_through_links(files: Files, tree: Path) -> None:
    outside = tree.parent / "outside"
    outside.write_bytes(b"")
    shutil.chown(outside, "gem")
    (tree / "way-out").symlink_to(outside)
    status, changed = await files.access("chmod").change(str(tree), mode="go-rwx", recursive=True)
    assert oct(status.mode) == "0o700"
    assert changed == 4  # itself, f, sub and sub/pipe
    assert oct((tree / "f").stat().st_mode & 0o777) == "0o600"
    assert oct(outside.stat().st_mode & 0o777) == "0o644"


async def test_an_owner_is_changed_by_root_alone(files: Files, home: Path) -> None:
    (home / "f").touch()
    shutil.chown(home / "f", "gem")
    with pytest.raises(FileError) as error:
        await files.access("chmod").change(f"{home}/f", owner="root")
    assert error.value.error_type == "permission_denied"
    await files.access("chmod", sudo=True).change(f"{home}/f", owner="daemon", group="1")
    assert ((home / "f").owner(), (home / "f").stat().st_gid) == ("daemon", 1)
    with pytest.raises(FileError, match="no such user"):
        await files.access("chmod", sudo=True).change(f"{home}/f", owner="nobody-knows")
