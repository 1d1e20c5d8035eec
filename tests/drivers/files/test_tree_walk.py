import os
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import FileError
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.tree_walk import Walk, matcher

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(home: Path) -> Path:
    for name in ("a.py", "b.txt", "src/c.py", "src/deep/d.py", ".hidden/e.py", "src/.f.py", "node_modules/g.py"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * len(name))
    return home


async def names(files: Files, path: Path, **options: Any) -> list[str]:
    options.setdefault("limit", 100)
    return [entry.path for entry in (await files.access("list").walk(str(path), **options)).entries]


async def test_one_directory_is_listed_with_what_is_hidden_in_it(files: Files, tree: Path) -> None:
    assert await names(files, tree, depth=1) == [".hidden", "a.py", "b.txt", "node_modules", "src"]


async def test_a_whole_tree_is_listed_without_what_is_hidden(files: Files, tree: Path) -> None:
    listed = await names(files, tree, hidden=False)
    assert listed == ["a.py", "b.txt", "node_modules", "node_modules/g.py", "src", "src/c.py", "src/deep", "src/deep/d.py"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py"]),
        ("**/*.py", ["a.py", "node_modules/g.py", "src/c.py", "src/deep/d.py"]),
        ("src/*.py", ["src/c.py"]),
        ("src/**", ["src/c.py", "src/deep/d.py"]),
        ("?.[tp]*", ["a.py", "b.txt"]),
        ("s*/d*/*", ["src/deep/d.py"]),
    ],
)
async def test_a_glob_matches_the_path_below_the_directory(files: Files, tree: Path, pattern: str, expected: list[str]) -> None:
    assert await names(files, tree, pattern=pattern, hidden=False, files_only=True) == expected


async def test_a_name_is_found_at_any_depth(files: Files, tree: Path) -> None:
    assert await names(files, tree, named="?.py", files_only=True) == [
        ".hidden/e.py", "a.py", "node_modules/g.py", "src/c.py", "src/deep/d.py",
    ]  # fmt: skip


async def test_what_is_excluded_is_not_looked_into(files: Files, tree: Path) -> None:
    listed = await names(files, tree, exclude=["node_modules", ".*", "src/deep/**"], suffixes=[".py"])
    assert listed == ["a.py", "src/c.py"]


async def test_a_listing_is_sorted_and_paged_and_counted(files: Files, tree: Path) -> None:
    listing = await files.access("list").walk(str(tree), sort="size", descending=True, files_only=True, offset=1, limit=2)
    assert [entry.path for entry in listing.entries] == ["src/deep/d.py", ".hidden/e.py"]
    assert (listing.total, listing.directories, listing.incomplete) == (7, 0, False)


async def test_a_loop_of_links_is_entries_and_no_loop(files: Files, home: Path) -> None:
    (home / "dir").mkdir()
    (home / "dir/up").symlink_to("..")
    (home / "self").symlink_to("self")
    listing = await files.access("list").walk(str(home), limit=100)
    assert [(entry.path, entry.directory, entry.link) for entry in listing.entries] == [
        ("dir", True, False), ("dir/up", True, True), ("self", False, True),
    ]  # fmt: skip


async def test_a_directory_that_cannot_be_read_is_counted_and_the_rest_listed(files: Files, tree: Path) -> None:
    (tree / "src").chmod(0)
    listing = await files.access("list").walk(str(tree), limit=100, hidden=False)
    (tree / "src").chmod(0o755)
    assert listing.unreadable == 1
    assert "node_modules/g.py" in [entry.path for entry in listing.entries]


async def test_a_walk_that_runs_out_of_time_says_that_there_is_more(tree: Path) -> None:
    walk = Walk(str(tree), None, hidden=True, excluded=matcher(()), deadline=time.monotonic())
    assert list(walk) == []
    assert walk.truncated


async def test_special_files_are_listed_as_what_they_are(files: Files, home: Path) -> None:
    os.mkfifo(home / "pipe")
    [entry] = (await files.access("list").walk(str(home), limit=1)).entries
    assert entry.status is not None
    assert entry.status.type == "fifo"


async def test_a_file_is_no_directory(files: Files, tree: Path) -> None:
    with pytest.raises(FileError) as error:
        await names(files, tree / "a.py")
    assert error.value.error_type == "invalid_target"


async def test_ten_thousand_entries_arrive(files: Files, home: Path) -> None:
    for number in range(10_000):
        (home / f"{number:05}").touch()
    assert len(await names(files, home, limit=10_000)) == 10_000


@pytest.mark.parametrize("globs", [["*a" * 40], ["a/" * 3000], ["a"] * 300])
async def test_globs_that_are_too_many_or_too_large_are_refused(files: Files, tree: Path, globs: list[str]) -> None:
    with pytest.raises(FileError, match="glob"):
        await names(files, tree, exclude=globs)
