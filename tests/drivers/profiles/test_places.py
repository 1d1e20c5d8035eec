"""Profiles appear and go whole, and one process has each."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.drivers.profiles import places
from sandbox_server.drivers.profiles.places import ProfilePlaces
from sandbox_server.drivers.profiles.problem import ProfileProblem
from tests.drivers.profiles.made import opened


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProfilePlaces:
    monkeypatch.setattr(places, "LOCK_SECONDS", 0.1)
    (tmp_path / "root").mkdir()
    (tmp_path / "default").mkdir()
    return ProfilePlaces(str(tmp_path / "root"), str(tmp_path / "default"), 10)


def made_with(kept: ProfilePlaces, name: str, meanwhile: Callable[[], None]) -> None:
    with kept.made(name) as tree:
        tree.write("file", iter([b"2"]))
        meanwhile()


def no_room() -> None:
    raise OSError(28, "No space left on device")


def make(kept: ProfilePlaces, name: str, content: bytes = b"1") -> None:
    with kept.made(name) as tree:
        tree.write("file", iter([content]))


def test_a_profile_that_was_made_is_listed_and_has_its_record(kept: ProfilePlaces, tmp_path: Path) -> None:
    make(kept, "b")
    make(kept, "a")
    assert kept.names() == ["a", "b"]
    assert kept.record("a")["created"] > 0
    assert (tmp_path / "root/a/chromium/file").read_bytes() == b"1"
    assert os.listdir(tmp_path / "root/.drafts") == []


def test_one_that_was_not_finished_is_none_and_leaves_nothing(kept: ProfilePlaces, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        made_with(kept, "a", no_room)
    assert kept.names() == []
    assert os.listdir(tmp_path / "root/.drafts") == []


def test_what_a_killed_worker_left_is_removed_and_what_one_works_on_is_not(kept: ProfilePlaces, tmp_path: Path) -> None:
    left, working = tmp_path / "root/.drafts/0000", tmp_path / "root/.drafts/1111"
    for draft in (left, working):
        (draft / "chromium").mkdir(parents=True)
    with opened(working) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        make(kept, "a")
        assert working.exists()
        assert not left.exists()


def test_a_second_one_of_a_name_is_refused_and_the_first_is_whole(kept: ProfilePlaces, tmp_path: Path) -> None:
    make(kept, "a")
    for name in ("a", "default"):
        with pytest.raises(ProfileProblem) as caught:
            make(kept, name, b"2")
        assert caught.value.reason == "exists"
    with pytest.raises(ProfileProblem, match="there is a profile"):
        made_with(kept, "b", lambda: make(kept, "b"))  # another worker is faster
    assert (tmp_path / "root/b/chromium/file").read_bytes() == b"1"


def test_two_never_have_one_profile(kept: ProfilePlaces) -> None:
    make(kept, "a")
    with kept.held("a"):
        assert kept.is_held("a")
        with pytest.raises(ProfileProblem) as caught, kept.held("a"):
            pass
        assert caught.value.reason == "in_use"
        with pytest.raises(ProfileProblem, match="in use"):
            kept.remove("a")
    assert not kept.is_held("a")
    kept.remove("a")
    assert kept.names() == []


def test_default_can_be_held_and_not_removed(kept: ProfilePlaces) -> None:
    with kept.held("default"):
        pass
    with pytest.raises(ProfileProblem) as caught:
        kept.remove("default")
    assert caught.value.kind == "invalid_argument"


def test_a_missing_one_is_not_found_and_a_link_is_never_one(kept: ProfilePlaces, tmp_path: Path) -> None:
    make(kept, "a")
    os.symlink("a", tmp_path / "root/linked")
    for name in ("b", "linked"):
        with pytest.raises(ProfileProblem) as caught, kept.held(name):
            pass
        assert caught.value.kind == "not_found"


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 9, "created": 1}', b"x" * 5000])
def test_a_record_that_cannot_be_read_is_damage(kept: ProfilePlaces, tmp_path: Path, record: bytes) -> None:
    make(kept, "a")
    (tmp_path / "root/a/profile.json").write_bytes(record)
    with pytest.raises(ProfileProblem) as caught:
        kept.record("a")
    assert caught.value.reason == "damaged"


def test_a_directory_that_is_a_link_is_damage(kept: ProfilePlaces, tmp_path: Path) -> None:
    make(kept, "a")
    os.rename(tmp_path / "root/a/chromium", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", tmp_path / "root/a/chromium")
    with pytest.raises(ProfileProblem) as caught, kept.held("a"):
        pass
    assert caught.value.reason == "damaged"


def test_there_is_a_limit(kept: ProfilePlaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MAX_PROFILES", 1)
    make(kept, "a")
    with pytest.raises(ProfileProblem) as caught:
        make(kept, "b")
    assert caught.value.kind == "resource_exhausted"


def test_all_together_have_a_limit_and_what_is_beyond_it_leaves_nothing(kept: ProfilePlaces, tmp_path: Path) -> None:
    make(kept, "a", b"123456")
    with pytest.raises(ProfileProblem) as caught:
        make(kept, "b", b"12345")
    assert (caught.value.kind, caught.value.reason) == ("resource_exhausted", "limit")
    make(kept, "c", b"1234")
    assert kept.names() == ["a", "c"]
    os.symlink("/etc/passwd", tmp_path / "root/a/chromium/link")  # what cannot be counted counts as the largest
    with pytest.raises(ProfileProblem):
        make(kept, "d", b"1")
