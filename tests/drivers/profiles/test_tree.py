"""Files of a profile that an attacker may have written."""

import os
import socket
from pathlib import Path

import pytest

from sandbox_server.drivers.profiles import tree
from sandbox_server.drivers.profiles.problem import ProfileProblem
from tests.drivers.profiles.made import make_profile, opened, paths
from tests.tables import table_test


def test_caches_and_the_links_of_the_running_browser_are_left_out(tmp_path: Path) -> None:
    assert paths(make_profile(tmp_path / "p")) == [
        "Default/Cookies",
        "Default/Local Storage/leveldb/000003.log",
        "Default/Preferences",
        "Last Version",
        "Local State",
    ]


def test_a_link_is_damage_wherever_it_leads(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    for target in ("../../secret", "/etc/passwd", "nowhere"):
        profile = make_profile(tmp_path / f"p{len(target)}")
        os.symlink(target, profile / "Default/History")
        with pytest.raises(ProfileProblem, match="neither a file nor a directory"):
            paths(profile)


def test_a_link_to_a_directory_is_not_entered(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "p")
    os.symlink("/etc", profile / "Default/Extensions")
    with pytest.raises(ProfileProblem) as caught:
        paths(profile)
    assert caught.value.reason == "damaged"


def test_pipes_and_sockets_are_damage_and_block_nobody(tmp_path: Path) -> None:
    piped, served = make_profile(tmp_path / "a"), make_profile(tmp_path / "b")
    os.mkfifo(piped / "Default/Preferences2")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(served / "s"))
        for profile in (piped, served):
            with pytest.raises(ProfileProblem):
                paths(profile)
    (piped / "Default/Preferences").unlink()
    os.mkfifo(piped / "Default/Preferences")
    with opened(piped) as descriptor, pytest.raises(ProfileProblem, match="is no file"):
        tree.read_small(descriptor, "Default/Preferences", 100)


def test_files_bytes_and_depth_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = make_profile(tmp_path / "p")
    with open(profile / "Default/big", "wb") as file:
        os.truncate(file.fileno(), tree.MAX_BYTES + 1)
    with pytest.raises(ProfileProblem) as caught:
        paths(profile)
    assert (caught.value.kind, caught.value.reason) == ("too_large", "limit")
    (profile / "Default/big").unlink()
    (profile / "/".join("d" * (tree.MAX_DEPTH + 2))).mkdir(parents=True)
    with pytest.raises(ProfileProblem, match="deeper"):
        paths(profile)
    monkeypatch.setattr(tree, "MAX_FILES", 2)
    with pytest.raises(ProfileProblem, match="more than 2 files"):
        paths(make_profile(tmp_path / "q"))


def test_a_file_that_grows_is_copied_as_it_was_and_one_that_shrinks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a").write_bytes(b"12345")
    with opened(tmp_path / "p") as descriptor:
        [file] = tree.files(descriptor)
        whole = tree.TreeFile("a", descriptor, "a", file.size)
        (tmp_path / "p/a").write_bytes(b"123456789")
        assert b"".join(tree.pieces(whole)) == b"12345"
        (tmp_path / "p/a").write_bytes(b"12")
        with pytest.raises(ProfileProblem, match="changed while it was read"):
            b"".join(tree.pieces(whole))


@table_test(
    [
        None,
        7,
        "",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        "a\0b",
        "x" * 300,
        "a/" * 30 + "b",
        "SingletonLock",
        "a/Cache/b",
        "\ud800",
    ]
)
def test_a_path_that_leads_elsewhere_is_refused(path: object) -> None:
    with pytest.raises(ProfileProblem):
        tree.check_path(path)


def test_a_new_tree_is_private_and_takes_no_path_twice(tmp_path: Path) -> None:
    made = tree.NewTree(str(tmp_path / "new"))
    made.write("a/b/c", iter([b"1", b"2"]))
    with pytest.raises(FileExistsError):
        made.write("a/b/c", iter([b"3"]))
    with pytest.raises(FileExistsError):
        made.write("a/b/c/d", iter([b"3"]))
    made.finish()
    assert (tmp_path / "new/a/b/c").read_bytes() == b"12"
    assert (tmp_path / "new/a/b/c").stat().st_mode & 0o777 == 0o600
