from pathlib import Path

import pytest

from sandbox_server.drivers.box import tree_snapshot
from sandbox_server.drivers.box.tree_snapshot import FolderSnapshot, MappedFiles, TreeSnapshot, clock, load

TREE = FolderSnapshot(1, False, {"a": None, "d": FolderSnapshot(2, True, {"\udcff": None})})
MAPPED = MappedFiles(frozenset({"/x"}), frozenset({7}))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "snapshot.json")


def saved(path: str, now: dict[str, object] | None = None) -> TreeSnapshot:
    made = TreeSnapshot("0badcafe", 5, TREE, MAPPED, now or clock())
    made.save(path)
    return made


def test_what_is_written_down_is_read_again(path: str) -> None:
    made = saved(path)
    assert load(path, "0badcafe") == made


def test_that_of_another_checkpoint_is_not_believed(path: str) -> None:
    saved(path)
    assert load(path, "00000000") is None
    assert load(path, None) is None


def test_after_the_clock_was_set_or_the_machine_started_nothing_is_known(path: str) -> None:
    now = clock()
    saved(path, now | {"began": now["began"] - 10**9})
    assert load(path, "0badcafe") is None
    saved(path, now | {"boot": "another"})
    assert load(path, "0badcafe") is None


@pytest.mark.parametrize("content", ["", "{}", "[" * 100_000, '{"checkpoint": 1}'])
def test_what_is_damaged_is_none(path: str, content: str) -> None:
    Path(path).write_text(content)
    assert load(path, "0badcafe") is None


def test_a_mapped_file_is_known_by_its_path_or_its_inode() -> None:
    both = MAPPED | MappedFiles(frozenset({"/y"}))
    assert [both.has(*one) for one in (("/x", 0), ("/y", 0), ("/z", 7), ("/z", 8))] == [True, True, True, False]


def test_the_clock_is_told_without_a_boot_id() -> None:
    assert tree_snapshot.clock("/nonexistent")["boot"]
