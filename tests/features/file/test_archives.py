from pathlib import Path

import pytest

from sandbox_server.core import FileError
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.file.archives import FileArchiveRequest, FileArchives, FileExtractRequest, format_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def archives(files: Files) -> FileArchives:
    return FileArchives(files)


@pytest.mark.parametrize(
    ("path", "form"), [("a.zip", "zip"), ("a.tar", "tar"), ("a.tar.gz", "tar.gz"), ("a.tgz", "tar.gz"), ("a", "tar.gz")]
)
def test_the_kind_of_archive_is_told_by_its_name(path: str, form: str) -> None:
    assert format_of(path) == form


async def test_files_are_packed_and_unpacked(archives: FileArchives, home: Path) -> None:
    (home / "d").mkdir()
    (home / "d/f").write_bytes(b"abc")
    (home / "d/skip.log").touch()
    packed = await archives.archive(FileArchiveRequest(paths=(f"{home}/d",), destination=f"{home}/a.zip", exclude=("*.log",)))
    assert (packed.format, packed.member_count, packed.size) == ("zip", 2, (home / "a.zip").stat().st_size)
    unpacked = await archives.extract(FileExtractRequest(path=f"{home}/a.zip", destination="~/out"))
    assert (unpacked.member_count, unpacked.size) == (2, 3)
    assert (home / "out/d/f").read_bytes() == b"abc"


async def test_an_archive_over_the_limit_is_refused(archives: FileArchives, home: Path) -> None:
    (home / "f").write_bytes(bytes(100))
    await archives.archive(FileArchiveRequest(paths=(f"{home}/f",), destination=f"{home}/a.tar"))
    with pytest.raises(FileError, match="raise max_bytes"):
        await archives.extract(FileExtractRequest(path=f"{home}/a.tar", destination=f"{home}/out", max_bytes=99))
