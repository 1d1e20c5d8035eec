"""Two folders of a real agent and one store."""

from pathlib import Path

import pytest

from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.folders.agent_tree import AgentTree
from sandbox_server.drivers.folders.directory_store import DirectoryStore
from sandbox_server.drivers.folders.places import FolderLimits, FolderPlaces
from sandbox_server.drivers.folders.synchronisation import Synchronisation
from sandbox_server.drivers.folders.version import StoreAwayError

pytestmark = pytest.mark.anyio
LIMITS = FolderLimits(100, 1 << 20)


def folder(files: Files, home: Path, kept: Path, name: str) -> tuple[Path, Synchronisation]:
    places = FolderPlaces(str(kept / name), name, "directory", LIMITS)
    return home / name, Synchronisation(DirectoryStore(str(kept / "store")), AgentTree(files, str(home / name), LIMITS), places)


async def write(files: Files, path: Path, content: bytes) -> None:
    await files.access("write").write(str(path), content)


async def test_both_have_what_either_wrote_and_a_conflict_keeps_both(files: Files, home: Path, tmp_path: Path) -> None:
    (first, one), (second, two) = folder(files, home, tmp_path, "one"), folder(files, home, tmp_path, "two")
    await write(files, first / "a/b", b"first")
    assert (await one.run(removals=False)).sent == 1
    assert (await two.run(removals=False)).written == 1
    assert (second / "a/b").read_bytes() == b"first"
    await write(files, first / "a/b", b"of one")
    await write(files, second / "a/b", b"of two")
    await one.run()
    assert (await two.run()).conflicts == ["a/b.conflict-2"]
    await one.run()
    for place in (first, second):
        assert ((place / "a/b").read_bytes(), (place / "a/b.conflict-2").read_bytes()) == (b"of two", b"of one")


async def test_a_folder_that_is_gone_empties_no_store(files: Files, home: Path, tmp_path: Path) -> None:
    place, sync = folder(files, home, tmp_path, "one")
    await write(files, place / "a", b"x")
    await sync.run(removals=False)
    await files.access("delete").delete(str(place), recursive=True)
    assert (await sync.run()).written == 1
    await files.access("delete").delete(str(place / "a"))
    assert (await sync.run()).version == 2
    assert (await sync.run(removals=False)).written == 0


async def test_what_was_kept_without_the_store_goes_to_it_when_the_box_is_gone(files: Files, home: Path, tmp_path: Path) -> None:
    place, sync = folder(files, home, tmp_path, "one")
    await write(files, place / "a", b"x")
    await sync.run(removals=False)
    await write(files, place / "a", b"precious")
    (tmp_path / "store").rename(tmp_path / "away")
    (tmp_path / "store").write_text("no directory")
    assert await sync.keep(removals=True)
    with pytest.raises(StoreAwayError):
        await sync.run()
    assert sync.waiting
    await files.access("delete").delete(str(place), recursive=True)
    (tmp_path / "store").unlink()
    (tmp_path / "away").rename(tmp_path / "store")
    await sync.run(removals=False)
    assert (place / "a").read_bytes() == b"precious"
    assert not sync.waiting


async def test_a_store_that_was_emptied_removes_nothing_here(files: Files, home: Path, tmp_path: Path) -> None:
    place, sync = folder(files, home, tmp_path, "one")
    await write(files, place / "a", b"x")
    await sync.run(removals=False)
    (tmp_path / "store").rename(tmp_path / "emptied")
    done = await sync.run()
    assert (done.sent, done.removed, (place / "a").read_bytes()) == (1, 0, b"x")


async def test_a_new_box_that_ends_before_the_store_answered_empties_no_store(files: Files, home: Path, tmp_path: Path) -> None:
    place, sync = folder(files, home, tmp_path, "one")
    await write(files, place / "a", b"old")
    await sync.run(removals=False)
    await files.access("delete").delete(str(place / "a"))  # as in a new box, whose folder is made and still empty
    assert not await sync.keep(removals=False)
    await write(files, place / "b", b"new")
    assert await sync.keep(removals=False)
    await sync.run(removals=False)
    assert ((place / "a").read_bytes(), (place / "b").read_bytes()) == (b"old", b"new")
