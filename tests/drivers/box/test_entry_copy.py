"""Copies of single entries, between directories of the volume."""

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box import entry_copy
from sandbox_server.drivers.box.entry_copy import CopyBudget, copy_entry
from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.resolve_beneath import DIRECTORY
from tests.boxes import VOLUME


class Folders:
    """Where to copy from and to."""

    def __init__(self, top: Path) -> None:
        self.top, self.a, self.b = top, top / "a", top / "b"
        self.a.mkdir(parents=True)
        self.b.mkdir()
        self.source, self.target = os.open(self.a, DIRECTORY), os.open(self.b, DIRECTORY)
        self.budget = CopyBudget(1 << 30, self.target)

    def copy(self, name: str) -> os.stat_result | None:
        """Copy one entry."""
        return copy_entry(self.source, name, self.target, self.budget)


@pytest.fixture
def folders() -> Iterator[Folders]:
    made = Folders(VOLUME / f"copy-{secrets.token_hex(4)}")
    yield made
    shutil.rmtree(made.top)


def test_a_file_keeps_contents_owner_mode_times_and_attributes(folders: Folders) -> None:
    file = folders.a / "f"
    file.write_bytes(os.urandom(100_000))
    os.chown(file, 1000, 1001)
    file.chmod(0o4751)
    os.setxattr(file, "user.mine", b"1")
    os.setxattr(file, "user.overlay.origin", b"2")
    os.utime(file, ns=(1, 2))
    assert folders.copy("f")
    made = folders.b / "f"
    status = made.stat()
    assert made.read_bytes() == file.read_bytes()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (1000, 1001, 0o4751, 2)
    assert os.listxattr(made) == ["user.mine"]


def test_a_sparse_file_stays_so_and_only_its_data_counts(folders: Folders) -> None:
    with (folders.a / "sparse").open("wb") as file:
        file.seek(1 << 40)
        file.write(b"end")
    folders.copy("sparse")
    made = (folders.b / "sparse").stat()
    assert (made.st_size, made.st_blocks * 512 < 1 << 20, folders.budget.bytes < 1 << 20) == ((1 << 40) + 3, True, True)


@pytest.mark.parametrize("make", ["link", "pipe", "socket", "whiteout"])
def test_what_is_no_file_is_made_as_it_is(folders: Folders, make: str) -> None:
    path = folders.a / "x"
    {
        "link": lambda: os.symlink("/nowhere/at/all", path),
        "pipe": lambda: os.mkfifo(path),
        "socket": lambda: os.mknod(path, stat.S_IFSOCK | 0o600),
        "whiteout": lambda: os.mknod(path, stat.S_IFCHR, 0),
    }[make]()
    os.chown(path, 1000, 1000, follow_symlinks=False)
    assert folders.copy("x")
    before, after = os.lstat(path), os.lstat(folders.b / "x")
    for name in ("st_mode", "st_uid", "st_gid", "st_rdev", "st_size", "st_mtime_ns"):
        assert getattr(before, name) == getattr(after, name), name


def test_a_link_is_not_followed_and_a_directory_is_not_copied(folders: Folders) -> None:
    (folders.a / "d").mkdir()
    os.symlink("/etc/passwd", folders.a / "l")
    assert folders.copy("d") is None
    assert folders.copy("gone") is None
    folders.copy("l")
    assert os.readlink(folders.b / "l") == "/etc/passwd"


def test_more_than_the_budget_is_refused(folders: Folders) -> None:
    (folders.a / "f").write_bytes(b"x" * 10_000)
    folders.budget = CopyBudget(1000, folders.target)
    with pytest.raises(StoreError, match="QUOTA") as refused:
        folders.copy("f")
    assert refused.value.kind == "resource_exhausted"


def test_a_disk_is_not_filled(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_copy, "SPARE_BYTES", 1 << 60)
    (folders.a / "f").write_bytes(b"x")
    with pytest.raises(StoreError, match='"stop" needs none'):
        folders.copy("f")


def test_inodes_are_left_too(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_copy, "SPARE_FILES", 1 << 60)
    os.symlink("/nowhere", folders.a / "l")
    with pytest.raises(StoreError, match='"stop" needs none'):
        folders.copy("l")


def test_a_large_file_is_not_copied_to_its_end_once_it_is_too_late(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_copy, "CHUNK", 4096)
    monkeypatch.setattr(entry_copy, "_FICLONE", 0)
    (folders.a / "f").write_bytes(b"x" * 100_000)
    times = iter([0.0, 0.0, 0.0, 2.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    folders.budget.deadline = 1.0
    with pytest.raises(StoreError, match="faster"):
        folders.copy("f")
    assert 0 < folders.budget.bytes < 100_000


def test_a_socket_that_took_a_file_s_place_is_not_copied_as_one(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mknod(folders.a / "f", stat.S_IFSOCK | 0o600)
    regular = os.stat(__file__)
    monkeypatch.setattr(os, "stat", lambda *_, **__: regular)
    assert folders.copy("f") is None


def test_where_the_kernel_copies_no_range_it_is_read_and_written(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(18, "EXDEV")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    (folders.a / "f").write_bytes(content := os.urandom(300_000))
    folders.copy("f")
    assert (folders.b / "f").read_bytes() == content
