"""One watch in this process; `test_watches` sees the same through the worker."""

import os
import select
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.watches import tree_watch as module
from sandbox_server.drivers.watches.change_events import CoalescingWindow
from sandbox_server.drivers.watches.tree_watch import PathWatch, TreeWatch

type Seen = list[tuple[str, str]]


def changes(watch: TreeWatch | PathWatch) -> Seen:
    """What happened by now, as (kind, path below the root)."""
    while select.select([watch.inotify], [], [], 0)[0]:
        watch.read()
    return [(change.kind, change.path.removeprefix(watch.root).lstrip("/")) for change in watch.take()]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[TreeWatch]:
    (tmp_path / "top/sub").mkdir(parents=True)
    opened = TreeWatch(str(tmp_path / "top"), CoalescingWindow(0), recursive=True, exclude=["skip"], include=[])
    opened.open()
    yield opened
    opened.inotify.close()


def test_nothing_happened_yet(watch: TreeWatch) -> None:
    assert changes(watch) == []


def test_what_happens_below_is_seen(watch: TreeWatch) -> None:
    top = Path(watch.root)
    (top / "sub/f").write_text("x")
    (top / "skip").mkdir()
    (top / "skip/f").touch()
    assert changes(watch) == [("create", "sub/f")]
    (top / "sub/f").rename(top / "g")
    assert changes(watch) == [("rename", "g")]


def test_a_directory_that_comes_with_content_is_reported_with_it(watch: TreeWatch, tmp_path: Path) -> None:
    (tmp_path / "other/deep").mkdir(parents=True)
    (tmp_path / "other/deep/f").touch()
    shutil.move(tmp_path / "other", Path(watch.root) / "new")
    assert changes(watch) == [("create", "new"), ("create", "new/deep"), ("create", "new/deep/f")]


def test_what_was_found_by_looking_is_not_told_again(watch: TreeWatch) -> None:
    (Path(watch.root) / "new").mkdir()
    watch.read()  # it is watched from here on, and what is in it found
    assert changes(watch) == [("create", "new")]
    (Path(watch.root) / "late").mkdir()
    added = watch._try_add

    def add_and_more(path: str, *, follow: bool = False) -> None:
        added(path, follow=follow)
        (Path(path) / "f").touch()  # seen by looking and by the kernel

    watch._try_add = add_and_more  # type: ignore[method-assign]
    watch.read()
    assert watch.take() != []
    assert changes(watch) == []
    (Path(watch.root) / "late/f").unlink()
    (Path(watch.root) / "late/f").touch()
    assert changes(watch) == [("remove", "late/f"), ("create", "late/f")]


def test_a_file_without_a_name_is_nothing_and_one_named_like_it_is(watch: TreeWatch) -> None:
    fd = os.open(watch.root, os.O_TMPFILE | os.O_RDWR)
    os.fchmod(fd, 0o600)
    os.write(fd, b"x")
    os.close(fd)
    assert changes(watch) == []
    (Path(watch.root) / "#12").touch()
    assert changes(watch) == [("create", "#12")]


def test_a_link_to_a_directory_is_not_followed(watch: TreeWatch, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (Path(watch.root) / "link").symlink_to(tmp_path / "other")
    changes(watch)
    (tmp_path / "other/f").touch()
    assert changes(watch) == []


def test_a_root_that_is_replaced_between_two_reads_is_watched_again(watch: TreeWatch) -> None:
    top = Path(watch.root)
    for _ in range(3):
        shutil.rmtree(top)
        top.mkdir()
        (top / "f").touch()
        seen = changes(watch)
        assert seen[-3:] == [("lost", ""), ("restored", ""), ("create", "f")]
        (top / "g").touch()
        assert changes(watch) == [("create", "g")]


def test_more_directories_than_one_watch_covers_are_an_overflow(watch: TreeWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 3)
    top = Path(watch.root)
    for name in ("a", "b", "c"):
        (top / name).mkdir()
    assert [kind for kind, _ in changes(watch)] == ["create", "create", "overflow", "create"]


def test_a_tree_that_is_too_large_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 1)
    (tmp_path / "sub").mkdir()
    watch = TreeWatch(str(tmp_path), CoalescingWindow(0), recursive=True, exclude=[], include=[])
    with pytest.raises(OSError, match="No space"):
        watch.open()
    watch.inotify.close()


def test_one_path_comes_changes_and_goes(tmp_path: Path) -> None:
    path = tmp_path / "dir/f"
    watch = PathWatch(str(path), CoalescingWindow(0))
    watch.open()
    assert changes(watch) == []
    path.parent.mkdir()
    path.touch()
    assert changes(watch) == [("create", "")]
    path.write_text("x")
    assert changes(watch) == [("write", "")]
    path.chmod(0o600)
    assert changes(watch) == [("chmod", "")]
    path.unlink()
    path.touch()
    assert [kind for kind, _ in changes(watch)][-2:] in (["remove", "create"], ["chmod", "write"], ["write"])
    shutil.rmtree(path.parent)
    assert changes(watch)[-1] == ("remove", "")
    watch.inotify.close()
