import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.watches.inotify import Inotify, Mask


@pytest.fixture
def inotify() -> Iterator[Inotify]:
    opened = Inotify()
    yield opened
    opened.close()


def test_nothing_to_read_is_no_events(inotify: Inotify, tmp_path: Path) -> None:
    assert not inotify.pending
    assert list(inotify.read()) == []
    inotify.add(str(tmp_path), Mask.CREATE)
    (tmp_path / "f").touch()
    assert inotify.pending


def test_both_halves_of_a_rename_carry_one_cookie(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    watch = inotify.add(str(tmp_path), Mask.MOVED_FROM | Mask.MOVED_TO)
    (tmp_path / "old").rename(tmp_path / "new é")
    left, arrived = inotify.read()
    assert (left.watch, left.mask, left.name) == (watch, Mask.MOVED_FROM, "old")
    assert (arrived.mask, arrived.name) == (Mask.MOVED_TO, "new é")
    assert left.cookie == arrived.cookie != 0


def test_a_stopped_watch_says_nothing_more(inotify: Inotify, tmp_path: Path) -> None:
    watch = inotify.add(str(tmp_path), Mask.CREATE)
    inotify.remove(watch)
    (tmp_path / "f").touch()
    assert [event.mask for event in inotify.read()] == [Mask.IGNORED]
    inotify.remove(watch)


def test_what_cannot_be_watched_is_an_error(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(OSError, match="missing") as error:
        inotify.add(str(tmp_path / "missing"), Mask.CREATE)
    assert error.value.errno == errno.ENOENT
    with pytest.raises(NotADirectoryError):
        inotify.add(str(tmp_path / "f"), Mask.CREATE | Mask.ONLYDIR)
