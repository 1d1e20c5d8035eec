from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.watches.inotify import Inotify
from sandbox_server.drivers.watches.path_watch import WatchedPath


@pytest.fixture
def inotify() -> Iterator[Inotify]:
    opened = Inotify()
    yield opened
    opened.close()


def stirred(where: WatchedPath, inotify: Inotify) -> bool:
    """Whether an event by now was about the path."""
    return sum(where.concerns(event) for event in inotify.read()) > 0


def test_only_the_name_that_leads_there_concerns_a_path(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    where = WatchedPath(str(tmp_path / "a/b"), inotify)
    assert where.refresh()
    (tmp_path / "other").touch()
    (tmp_path / "a/other").touch()
    assert not stirred(where, inotify)
    assert not where.refresh()
    (tmp_path / "a").rename(tmp_path / "moved")
    assert stirred(where, inotify)
    assert where.refresh()
    assert where.identity is None


def test_a_path_comes_into_being_part_by_part(inotify: Inotify, tmp_path: Path) -> None:
    where = WatchedPath(str(tmp_path / "a/b"), inotify)
    assert not where.refresh()
    for part in ("a", "a/b"):
        (tmp_path / part).mkdir()
        assert stirred(where, inotify)
        where.refresh()
    assert where.identity is not None
    assert where.unchanged()


def test_a_link_that_leads_elsewhere_is_another_thing(inotify: Inotify, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("one")
    where = WatchedPath(str(tmp_path / "link"), inotify)
    where.refresh()
    (tmp_path / "fresh").symlink_to("two")
    (tmp_path / "fresh").rename(tmp_path / "link")
    assert stirred(where, inotify)
    assert not where.unchanged()
    assert where.refresh()


def test_the_root_directory_has_nothing_above_it(inotify: Inotify) -> None:
    where = WatchedPath("/", inotify)
    assert where.refresh()
    assert not where.refresh()
