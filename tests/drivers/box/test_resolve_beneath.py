import os
import stat
from pathlib import Path

import pytest

from sandbox_server.drivers.box import resolve_beneath


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A directory with a link out of it, a link within it, and a file."""
    (tmp_path / "outside/inner").mkdir(parents=True)
    (tmp_path / "top/real/inner").mkdir(parents=True)
    (tmp_path / "top/out").symlink_to(tmp_path / "outside")
    (tmp_path / "top/within").symlink_to("real")
    (tmp_path / "top/file").touch()
    return tmp_path / "top"


@pytest.mark.parametrize("path", ["out", "out/inner", "within", "within/inner", "file", "file/inner", "nothing"])
def test_only_a_directory_to_which_no_link_leads_is_opened(top: Path, path: str) -> None:
    with pytest.raises(OSError, match=r"Not a directory|No such file|Too many levels"):
        resolve_beneath.open_directory(str(top), path)
    assert not resolve_beneath.is_directory(str(top), path)
    assert resolve_beneath.is_directory(str(top), "real/inner")


@pytest.mark.parametrize("path", ["..", "real/../..", "../outside"])
def test_no_path_leads_upwards(top: Path, path: str) -> None:
    with pytest.raises(ValueError, match="upwards"):
        resolve_beneath.open_directory(str(top), path)


@pytest.mark.parametrize("path", ["out/inner/new", "within/new", "file/new"])
def test_a_directory_is_made_in_the_place_of_what_is_in_its_way(top: Path, path: str) -> None:
    made, replaced = resolve_beneath.make_directory(str(top), path)
    os.close(made)
    assert replaced
    assert stat.S_ISDIR(os.lstat(top / path.split("/")[0]).st_mode)
    assert (top / path).is_dir()
    assert os.listdir(top.parent / "outside") == ["inner"]
    assert os.listdir(top.parent / "outside/inner") == []


def test_a_directory_that_is_there_is_left_as_it_is(top: Path) -> None:
    made, replaced = resolve_beneath.make_directory(str(top), "real/inner")
    os.close(made)
    assert not replaced


def test_a_directory_resembles_another_but_for_the_marks_of_its_layer(top: Path) -> None:
    os.chmod(top / "real", 0o1711)
    os.setxattr(top / "real", "user.overlay.opaque", b"y")
    os.setxattr(top / "real", "user.mine", b"x")
    os.mkdir(top / "new")
    new, old = (resolve_beneath.open_directory(str(top), name) for name in ("new", "real"))
    resolve_beneath.resemble(new, old)
    assert stat.S_IMODE(os.fstat(new).st_mode) == 0o1711
    assert os.listxattr(new) == ["user.mine"]
    os.close(new)
    os.close(old)
