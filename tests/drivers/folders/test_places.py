import hashlib
from pathlib import Path

import pytest

from sandbox_server.drivers.folders.places import FolderLimits, FolderPlaces, check_file
from sandbox_server.drivers.folders.version import DamagedError, FileRecord, Version

VERSION = Version(4, {"a": FileRecord(1, "a" * 64)}, "lineage")


def places(root: Path, store: str = "s3://bucket") -> FolderPlaces:
    return FolderPlaces(str(root), "notes", store, FolderLimits(10, 100))


def test_the_agreed_version_is_read_again_and_does_not_count_for_another_store(tmp_path: Path) -> None:
    assert places(tmp_path).read_base() == Version()
    places(tmp_path).write_base(VERSION)
    assert places(tmp_path).read_base() == VERSION
    assert places(tmp_path, "directory").read_base() == Version(0, VERSION.files)


def test_what_is_damaged_counts_as_none(tmp_path: Path) -> None:
    places(tmp_path).write_base(VERSION)
    (tmp_path / "base" / "notes.json").write_text("{")
    assert places(tmp_path).read_base() == Version()


def test_what_was_not_kept_whole_does_not_wait(tmp_path: Path) -> None:
    kept = places(tmp_path)
    kept.begin_waiting()
    assert kept.read_waiting() is None
    kept.end_waiting(Version(), VERSION)
    waiting = kept.read_waiting()
    assert waiting is not None
    assert waiting.kept == VERSION
    kept.forget_waiting()
    assert kept.read_waiting() is None


def test_drafts_go_with_their_directory(tmp_path: Path) -> None:
    with places(tmp_path).drafts() as folder:
        Path(folder, "draft").write_text("x")
    assert not Path(folder).exists()


def test_a_file_of_another_size_or_digest_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    check_file(str(file), FileRecord(3, hashlib.sha256(b"abc").hexdigest()))
    with pytest.raises(DamagedError):
        check_file(str(file), FileRecord(3, "a" * 64))
    assert not file.exists()
