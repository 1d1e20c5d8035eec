from pathlib import Path

import pytest

from sandbox_server.core.errors import FileError, TooLarge
from sandbox_server.drivers.browser import uploads as module
from sandbox_server.drivers.browser.uploads import PageUploads
from sandbox_server.drivers.files.files import Files

pytestmark = pytest.mark.anyio


async def test_copies_have_the_files_names_and_bytes_and_anybody_reads_them(files: Files, home: Path, tmp_path: Path) -> None:
    (home / "a b.txt").write_bytes(b"hello")
    (home / "sub").mkdir()
    (home / "sub" / "a b.txt").write_bytes(b"other")
    async with PageUploads(files, str(tmp_path)) as uploads:
        first, second = map(Path, await uploads.copy(["~/a b.txt", str(home / "sub" / "a b.txt")]))

        assert (first.name, first.read_bytes(), second.name, second.read_bytes()) == ("a b.txt", b"hello", "a b.txt", b"other")
        assert first.stat().st_mode & 0o777 == 0o644
        assert first.parent.stat().st_mode & 0o777 == first.parent.parent.stat().st_mode & 0o777 == 0o711
    assert list(tmp_path.iterdir()) == []


async def test_what_a_killed_process_left_is_removed(files: Files, tmp_path: Path) -> None:
    (tmp_path / "tandem-upload-old").mkdir()
    (tmp_path / "another").mkdir()
    async with PageUploads(files, str(tmp_path)):
        assert [left.name for left in tmp_path.iterdir()] == ["another"]


async def test_a_copy_that_fails_leaves_nothing(files: Files, home: Path, tmp_path: Path) -> None:
    (home / "a").write_bytes(b"x")
    async with PageUploads(files, str(tmp_path)) as uploads:
        with pytest.raises(FileError):
            await uploads.copy([str(home / "a"), str(home / "none")])
        assert list(tmp_path.iterdir()) == []


async def test_sizes_are_bounded_and_the_oldest_copies_go_first(
    files: Files, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    monkeypatch.setattr(module, "MAX_KEPT", 15)
    (home / "six").write_bytes(b"x" * 6)
    async with PageUploads(files, str(tmp_path)) as uploads:
        with pytest.raises(TooLarge):
            await uploads.copy([str(home / "six"), str(home / "six")])
        copies = [Path((await uploads.copy([str(home / "six")]))[0]) for _ in range(3)]

        assert [copy.exists() for copy in copies] == [False, True, True]
