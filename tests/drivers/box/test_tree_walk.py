import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box import tree_walk

DEPTH = 100_000


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[str]:
    """A tree as deep as `mkdir` and `cd` in a loop make it, with a file of a page in each thousandth directory."""
    top = tmp_path / "deep"
    top.mkdir()
    place = os.open(top, os.O_RDONLY)
    for number in range(DEPTH):
        os.mkdir("d", dir_fd=place)
        if number % 1000 == 0:
            with open(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place), "wb") as file:
                file.write(b"x" * 4096)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    yield str(top)
    tree_walk.remove([str(top)])


@pytest.mark.slow
def test_a_tree_of_any_depth_is_counted_and_removed(deep: str) -> None:
    began = time.thread_time()
    files, size = tree_walk.usage(deep)
    assert (files, size >= 100 * 4096) == (DEPTH // 1000, True)
    tree_walk.remove([deep])
    assert not os.path.exists(deep)
    assert time.thread_time() - began < 60


def test_no_link_is_followed_when_a_tree_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / "gone/inner").mkdir(parents=True)
    for folder in ("gone", "gone/inner"):
        (tmp_path / folder / "link").symlink_to(kept)
        os.mkfifo(tmp_path / folder / "pipe")
    (tmp_path / "other").symlink_to(kept)
    tree_walk.remove([str(tmp_path / "gone"), str(tmp_path / "other")])
    assert sorted(os.listdir(tmp_path)) == ["kept", "other"]
    assert os.listdir(kept) == ["file"]


def test_removing_ends_once_it_is_enough(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"top/{number}/inner").mkdir(parents=True)
    tree_walk.remove([str(tmp_path / "top")], enough=lambda: len(os.listdir(tmp_path / "top")) < 8)
    assert os.path.isdir(tmp_path / "top")
    tree_walk.remove([str(tmp_path / "top")])
    assert not os.path.exists(tmp_path / "top")


def test_more_directories_than_are_held_at_once_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_walk, "_AT_ONCE", 3)
    for number in range(10):
        (tmp_path / f"top/wide/{number}").mkdir(parents=True)
    tree_walk.remove([str(tmp_path / "top")])
    assert not os.path.exists(tmp_path / "top")
