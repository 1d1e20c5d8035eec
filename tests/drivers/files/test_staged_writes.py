import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict, FileError
from sandbox_server.drivers.files import staged_writes
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.staged_writes import STAGING_PREFIX

pytestmark = pytest.mark.anyio


async def test_a_new_file_has_the_ordinary_mode_and_its_directories_are_made(files: Files, home: Path) -> None:
    status = await files.access("write").write(f"{home}/a/b/f", b"x")
    assert (oct(status.mode), status.size) == ("0o644", 1)
    assert (home / "a/b/f").read_bytes() == b"x"
    assert (home / "a/b/f").owner() == home.owner()


async def test_a_replaced_file_keeps_mode_owner_and_attributes(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    (home / "f").chmod(0o751)
    shutil.chown(home / "f", "gem", "gem")
    os.setxattr(home / "f", "user.note", b"kept")
    before = (home / "f").stat()

    await files.access("write").write(f"{home}/f", b"new")

    after = (home / "f").stat()
    assert (home / "f").read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(home / "f", "user.note") == b"kept"
    assert after.st_ino != before.st_ino  # it took its place in one step


async def test_a_staged_file_is_the_one_that_takes_the_place_and_no_copy_of_it(files: Files, home: Path) -> None:
    access = files.access("write")
    with await access.stage(f"{home}/f") as staged:
        await staged.write(b"x")
        committed = await access.commit(staged, f"{home}/f")
        assert committed.inode == os.fstat(staged.fd).st_ino


async def test_a_begun_file_is_there_at_once_and_shows_what_is_written(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    shutil.chown(home / "f", "gem", "gem")
    before = (home / "f").stat().st_ino
    fd = await files.access("record").begin(f"{home}/f")
    assert (home / "f").read_bytes() == b""
    os.write(fd, b"new")
    os.close(fd)
    assert (home / "f").read_bytes() == b"new"
    assert (home / "f").stat().st_ino != before  # who reads the old one goes on


def test_a_file_is_begun_where_the_kernel_has_no_unnamed_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def without_unnamed(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), path)
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", without_unnamed)
    (home / "f").write_bytes(b"old")
    frame = staged_writes.begin(WorkerFrame({"path": f"{home}/f"}))
    os.write(frame.fds[0], b"new")
    frame.close()
    assert (home / "f").read_bytes() == b"new"
    assert os.listdir(home) == ["f"]
    with pytest.raises(FileNotFoundError):
        staged_writes.begin(WorkerFrame({"path": f"{home}/missing/f"}))
    assert os.listdir(home) == ["f"]


async def test_a_reader_sees_the_old_file_or_the_new_one(files: Files, home: Path) -> None:
    sizes = (1 << 20, 2 << 20)
    access = files.access("write")
    await access.write(f"{home}/f", bytes(sizes[0]))
    seen = set()
    for turn in range(20):
        writing = asyncio.create_task(access.write(f"{home}/f", bytes(sizes[turn % 2])))
        while not writing.done():
            seen.add(len((home / "f").read_bytes()))
            await asyncio.sleep(0)
    assert seen <= set(sizes)


async def test_a_link_stays_and_what_it_leads_to_is_replaced(files: Files, home: Path) -> None:
    (home / "dir").mkdir()
    (home / "dir/f").write_bytes(b"old")
    shutil.chown(home / "dir", "gem")
    shutil.chown(home / "dir/f", "gem", "gem")
    (home / "link").symlink_to("dir/f")
    await files.access("write").write(f"{home}/link", b"new")
    assert (home / "link").is_symlink()
    assert (home / "dir/f").read_bytes() == b"new"


async def test_writing_through_a_link_to_nothing_makes_what_it_leads_to(files: Files, home: Path) -> None:
    (home / "link").symlink_to("made")
    await files.access("write").write(f"{home}/link", b"x")
    assert (home / "made").read_bytes() == b"x"


async def test_a_file_is_appended_to_in_place(files: Files, home: Path) -> None:
    access = files.access("write")
    first = await access.write(f"{home}/f", b"one\n", append=True)
    second = await access.write(f"{home}/f", b"two\n", append=True)
    assert (home / "f").read_bytes() == b"one\ntwo\n"
    assert first.inode == second.inode


async def test_an_exclusive_write_leaves_an_existing_file_alone(files: Files, home: Path) -> None:
    access = files.access("write")
    await access.write(f"{home}/f", b"first", exclusive=True)
    with pytest.raises(FileError) as error:
        await access.write(f"{home}/f", b"second", exclusive=True)
    assert error.value.error_type == "already_exists"
    assert (home / "f").read_bytes() == b"first"


async def test_of_many_exclusive_writers_one_wins(files: Files, home: Path) -> None:
    access = files.access("write")
    outcomes = await asyncio.gather(*(access.write(f"{home}/f", b"%d" % n, exclusive=True) for n in range(6)), return_exceptions=True)
    assert sum(not isinstance(outcome, FileError) for outcome in outcomes) == 1


async def test_a_write_for_another_version_is_a_conflict(files: Files, home: Path) -> None:
    access = files.access("write")
    first = await access.write(f"{home}/f", b"one")
    second = await access.write(f"{home}/f", b"two", if_match=first.etag)
    with pytest.raises(Conflict, match=f"its etag is now {second.etag}"):
        await access.write(f"{home}/f", b"three", if_match=first.etag)
    with pytest.raises(Conflict, match="does not exist"):
        await access.write(f"{home}/missing", b"x", if_match="*")
    assert (home / "f").read_bytes() == b"two"


async def test_a_file_in_a_directory_that_cannot_be_written_is_overwritten(files: Files, home: Path) -> None:
    closed = home / "closed"
    closed.mkdir()
    (closed / "f").write_bytes(b"a longer text")
    shutil.chown(closed / "f", "gem", "gem")
    status = await files.access("write").write(f"{closed}/f", b"short")
    assert (closed / "f").read_bytes() == b"short"
    assert status.size == 5


async def test_a_file_of_another_owner_stays_theirs(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    (home / "f").chmod(0o666)
    await files.access("write").write(f"{home}/f", b"new")
    assert (home / "f").read_bytes() == b"new"
    assert (home / "f").owner() == "root"


async def test_root_replaces_a_file_and_leaves_it_to_its_owner(files: Files, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    shutil.chown(home / "f", "gem", "gem")
    await files.access("write", sudo=True).write(f"{home}/f", b"new")
    assert (home / "f").owner() == "gem"


@pytest.mark.parametrize(("path", "kind"), [("/nowhere/x", "not_found"), ("/root/x", "permission_denied"), ("/tmp/", "invalid_target")])
async def test_what_cannot_be_written_says_why(files: Files, path: str, kind: str) -> None:
    with pytest.raises(FileError) as error:
        await files.access("write").write(path, b"x", parents=False)
    assert error.value.error_type == kind


async def test_a_pipe_is_not_written_to(files: Files, home: Path) -> None:
    os.mkfifo(home / "pipe", 0o666)
    (home / "pipe").chmod(0o666)
    with pytest.raises(FileError, match="is a named pipe"):
        await files.access("write").write(f"{home}/pipe", b"x")


@pytest.fixture
def full_disk() -> Iterator[Path]:
    """A directory of the agent on a file system of its own, on which one mebibyte is free."""
    system = os.statvfs("/dev/shm")
    free = system.f_bavail * system.f_frsize
    if free > 1 << 30:
        pytest.skip("/dev/shm is too large to be filled")
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    shutil.chown(folder, "gem")
    with tempfile.TemporaryFile(dir="/dev/shm") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, free - (1 << 20))
        yield folder
    shutil.rmtree(folder)


async def test_a_full_disk_leaves_the_old_file_whole(files: Files, full_disk: Path) -> None:
    access = files.access("write")
    await access.write(f"{full_disk}/f", b"old")
    with pytest.raises(FileError) as error:
        await access.write(f"{full_disk}/f", bytes(2 << 20))
    assert (error.value.error_type, error.value.errno) == ("no_space_left", errno.ENOSPC)
    assert [path.name for path in full_disk.iterdir()] == ["f"]
    assert (full_disk / "f").read_bytes() == b"old"


async def test_an_append_to_a_full_disk_is_undone(files: Files, full_disk: Path) -> None:
    access = files.access("write")
    await access.write(f"{full_disk}/f", b"old")
    with pytest.raises(FileError):
        await access.write(f"{full_disk}/f", bytes(2 << 20), append=True)
    assert (full_disk / "f").read_bytes() == b"old"


async def test_a_read_only_file_system_says_so(files: Files) -> None:
    if not os.statvfs("/sys").f_flag & os.ST_RDONLY:
        pytest.skip("/sys can be written here")
    with pytest.raises(FileError) as error:
        await files.access("write", sudo=True).write("/sys/x", b"x")
    assert error.value.error_type == "read_only_filesystem"


async def test_a_staged_file_is_nowhere_until_it_is_committed(files: Files, home: Path) -> None:
    access = files.access("upload")
    with await access.stage(f"{home}/f") as staged:
        await staged.write(b"x" * 3_000_000)
        await staged.flush()
        assert list(home.iterdir()) == []
        status = await access.commit(staged, f"{home}/f")
    assert status.size == (home / "f").stat().st_size == staged.size == 3_000_000


async def test_a_staged_file_that_is_not_committed_leaves_nothing(files: Files, home: Path) -> None:
    with await files.access("upload").stage(f"{home}/f") as staged:
        await staged.write(b"x" * 3_000_000)
    assert list(home.iterdir()) == []


async def test_a_staged_file_can_be_committed_on_another_file_system(files: Files, home: Path, full_disk: Path) -> None:
    access = files.access("upload")
    with await access.stage(f"{home}/f") as staged:
        await staged.write(b"moved")
        await access.commit(staged, f"{full_disk}/f")
    assert (full_disk / "f").read_bytes() == b"moved"
    assert not [path for path in full_disk.iterdir() if path.name.startswith(STAGING_PREFIX)]
