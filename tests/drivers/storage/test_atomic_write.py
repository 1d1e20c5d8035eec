"""A file is replaced whole or not at all, and is nobody else's for a moment."""

import os
import stat
from pathlib import Path

import pytest

from sandbox_server.drivers.storage import atomic_write

CONTROL = (990, 990)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with content."""
    file = tmp_path / "state"
    file.write_text("old")
    return file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("content", ["new \N{SNOWMAN}", "new \N{SNOWMAN}".encode()])
@pytest.mark.parametrize("durable", [False, True])
def test_the_new_content_takes_the_place_of_the_old(file: Path, content: str | bytes, durable: bool) -> None:
    atomic_write.replace(file, content, mode=0o440, durable=durable)

    assert (file.read_text("utf-8"), mode(file)) == ("new \N{SNOWMAN}", 0o440)
    assert list(file.parent.iterdir()) == [file]


def test_without_a_mode_it_is_its_owners_alone(file: Path) -> None:
    atomic_write.replace(str(file), "new")

    assert mode(file) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_written_file_belongs_to_the_given_owner(file: Path) -> None:
    atomic_write.replace(file, "new", owner=CONTROL)

    assert (file.stat().st_uid, file.stat().st_gid) == CONTROL


def fail_half_way(file: Path) -> None:
    with atomic_write.replacing(file) as draft:
        draft.write(b"half")
        draft.flush()
        assert file.read_text() == "old"
        raise ZeroDivisionError


def test_what_fails_half_way_leaves_the_old_content_and_no_draft(file: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_half_way(file)

    assert file.read_text() == "old"
    assert list(file.parent.iterdir()) == [file]


def test_nobody_else_can_read_it_before_it_is_in_place(file: Path) -> None:
    with atomic_write.replacing(file, mode=0o644):
        (draft,) = set(file.parent.iterdir()) - {file}
        assert mode(draft) == 0o600


def test_a_draft_that_was_left_behind_goes_and_a_link_in_its_place_is_not_followed(file: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / ".state.new").symlink_to(precious)

    atomic_write.replace(file, "new")

    assert (file.read_text(), precious.read_text()) == ("new", "mine")
    assert not (tmp_path / ".state.new").is_symlink()


def test_a_link_in_the_files_own_place_is_replaced_itself(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "state").symlink_to(precious)

    atomic_write.replace(tmp_path / "state", "new")

    assert (precious.read_text(), (tmp_path / "state").is_symlink()) == ("mine", False)
