import os
from pathlib import Path

import pytest

from sandbox_server.core import FileError
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import DirectoryEntry
from sandbox_server.features.file.listing import (
    FileFindRequest,
    FileGlobRequest,
    FileListing,
    FileListRequest,
    FileTreeRequest,
    draw,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def listing(files: Files) -> FileListing:
    return FileListing(files)


@pytest.fixture
def tree(home: Path) -> Path:
    for name in ("b.py", "a.txt", "src/c.py", "src/deep/d.py", ".hidden/e.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x" * len(name))
    os.utime(home / "b.py", (0, 0))
    (home / "b.py").chmod(0o640)
    return home


async def test_names_are_found_at_any_depth_and_paths_below_the_directory(listing: FileListing, tree: Path) -> None:
    found = await listing.find(FileFindRequest(path=str(tree), glob="*.py"))
    assert found.files == tuple(f"{tree}/{name}" for name in (".hidden/e.py", "b.py", "src/c.py", "src/deep/d.py"))
    assert (await listing.find(FileFindRequest(path=str(tree), glob="src/*.py"))).files == (f"{tree}/src/c.py",)


async def test_a_glob_gives_size_and_time_unless_they_are_not_wanted(listing: FileListing, tree: Path) -> None:
    result = await listing.glob(FileGlobRequest(path=str(tree), pattern="*.py"))
    [match] = result.files
    assert (match.name, match.size, match.modified_time) == ("b.py", 4, "1970-01-01T00:00:00+00:00")
    [bare] = (await listing.glob(FileGlobRequest(path=str(tree), pattern="*.py", include_metadata=False))).files
    assert (bare.size, bare.modified_time) == (None, None)


async def test_a_glob_says_how_many_there_are_beyond_the_limit(listing: FileListing, tree: Path) -> None:
    result = await listing.glob(FileGlobRequest(path=str(tree), pattern="**/*.py", sort_by="size", sort_desc=True, max_results=1))
    assert [match.name for match in result.files] == ["d.py"]
    assert (result.total_count, result.truncated) == (3, True)


async def test_a_glob_gives_directories_only_when_asked(listing: FileListing, tree: Path) -> None:
    result = await listing.glob(FileGlobRequest(path=str(tree), pattern="*", files_only=False, exclude=("*.txt",)))
    assert [(match.name, match.is_directory) for match in result.files] == [("b.py", False), ("src", True)]


async def test_a_directory_is_listed_with_counts(listing: FileListing, tree: Path) -> None:
    result = (await listing.list(FileListRequest(path=str(tree), include_permissions=True))).data
    assert [entry.name for entry in result.files] == [".hidden", "a.txt", "b.py", "src"]
    assert (result.total_count, result.directory_count, result.file_count) == (4, 2, 2)
    entry = result.files[2]
    assert (entry.path, entry.size, entry.permissions, entry.extension) == (f"{tree}/b.py", 4, "-rw-r-----", ".py")
    assert result.files[3].permissions == "drwxr-xr-x"


async def test_a_recursive_listing_goes_as_deep_as_asked(listing: FileListing, tree: Path) -> None:
    request = FileListRequest(path=str(tree), recursive=True, max_depth=2, show_hidden=False, file_types=(".py",))
    assert [entry.name for entry in (await listing.list(request)).data.files] == ["b.py", "c.py"]


async def test_pages_of_a_listing_follow_each_other(listing: FileListing, tree: Path) -> None:
    pages = [(await listing.list(FileListRequest(path=str(tree), sort_by="type", limit=2, offset=at))).data for at in (0, 2)]
    assert [entry.name for page in pages for entry in page.files] == [".hidden", "src", "b.py", "a.txt"]
    assert [page.truncated for page in pages] == [True, False]


async def test_directories_that_cannot_be_read_are_mentioned(listing: FileListing, tree: Path) -> None:
    (tree / "src").chmod(0)
    reply = await listing.list(FileListRequest(path=str(tree), recursive=True))
    (tree / "src").chmod(0o755)
    assert reply.hint == "1 directories could not be read."


async def test_a_missing_directory_is_a_file_error(listing: FileListing, home: Path) -> None:
    with pytest.raises(FileError, match=r"Failed to list file: \[Errno 2\]") as error:
        await listing.list(FileListRequest(path=f"{home}/missing"))
    assert error.value.error_type == "not_found"


async def test_a_directory_is_drawn(listing: FileListing, tree: Path) -> None:
    (tree / "src/link").symlink_to("deep")
    result = await listing.tree(FileTreeRequest(path=str(tree), max_depth=2))
    assert result.tree == f"{tree}\n├── a.txt\n├── b.py\n└── src/\n    ├── c.py\n    ├── deep/\n    └── link@"
    assert (result.directory_count, result.file_count, result.truncated) == (3, 3, False)


def test_a_branch_is_drawn_beside_what_follows_it() -> None:
    entries = [DirectoryEntry(path, path in ("a", "a/b"), link=False, status=None) for path in ("a", "a/b", "a/b/c", "d")]
    assert draw("/", entries) == "/\n├── a/\n│   └── b/\n│       └── c\n└── d"
