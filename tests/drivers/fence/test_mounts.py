"""Which paths are meant; what the mounts do is in `test_fence`."""

from pathlib import Path

from sandbox_server.drivers.fence.mounts import resolved, within


def test_a_folder_is_within_itself_and_a_longer_name_beside_it_is_not() -> None:
    assert within("/a/b", "/a/b")
    assert within("/a/b/c", "/a/b/")
    assert within("/a", "/")
    assert not within("/a/bc", "/a/b")


def test_paths_are_what_links_lead_to_the_shorter_first_and_only_those_that_exist(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "d")
    given = [str(tmp_path / "d" / "e"), str(tmp_path / "link"), str(tmp_path / "none")]
    assert resolved(given) == [str(tmp_path / "d"), str(tmp_path / "d" / "e")]
