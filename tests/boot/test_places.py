"""Directories get their owners and modes, and no link made by the agent is followed."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot.places import HomeNotWritableError, fill_home, make_directory, prepare, prepare_workspace
from sandbox_server.settings import AgentSettings, LogsSettings, Paths, Settings

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which needs root")
AGENT = (1000, 1000)
CONTROL = (990, 990)


def owner(path: Path) -> tuple[int, int]:
    """User and group of a path."""
    found = path.stat()
    return found.st_uid, found.st_gid


def mode(path: Path) -> int:
    """Permission bits of a path."""
    return path.stat().st_mode & 0o7777


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose places are all in a directory of the test."""
    run = tmp_path / "run"
    run.mkdir(mode=0o777)
    run.chmod(0o1777)
    paths = Paths(run=f"{run}/sandbox", agent_run=f"{run}/agent", boot=f"{run}/boot")
    return replace(
        Settings(), paths=paths, logs=LogsSettings(directory=f"{tmp_path}/log"), agent=AgentSettings(workspace=f"{tmp_path}/work/deep")
    )


def test_each_place_has_its_owner_and_is_closed_to_the_others(settings: Settings, tmp_path: Path) -> None:
    prepare(settings, boxed=True)
    run = tmp_path / "run"
    found = {path.name: (owner(path), mode(path)) for path in run.iterdir()}
    assert found == {"sandbox": (CONTROL, 0o700), "agent": ((0, 1000), 0o751), "boot": ((0, 0), 0o700)}
    assert (owner(tmp_path / "log"), owner(run / "sandbox" / "nginx")) == (AGENT, CONTROL)


def test_without_a_box_the_mode_keeps_others_from_the_identity_s_socket(settings: Settings) -> None:
    prepare(settings, boxed=False)
    place = Path(settings.paths.identity)
    assert mode(place) == 0o750
    assert owner(place) == ((settings.users.control_uid, settings.agent.gid) if os.geteuid() == 0 else (os.getuid(), os.getgid()))


def test_the_directory_in_which_anybody_could_have_made_them_is_closed(settings: Settings, tmp_path: Path) -> None:
    prepare(settings, boxed=True)
    assert mode(tmp_path / "run") == 0o755


def test_preparing_twice_changes_nothing(settings: Settings, tmp_path: Path) -> None:
    prepare(settings, boxed=True)
    before = {path: path.stat().st_ctime_ns for path in (tmp_path / "run").iterdir()}
    prepare(settings, boxed=True)
    assert {path: path.stat().st_ctime_ns for path in (tmp_path / "run").iterdir()} == before


def test_an_empty_home_gets_the_files_of_a_new_account(tmp_path: Path) -> None:
    home, skeleton = tmp_path / "home", tmp_path / "skel"
    home.mkdir()
    skeleton.mkdir()
    (skeleton / ".config").mkdir()
    (skeleton / ".config" / "tool").write_text("fast\n")
    os.chown(home, *AGENT)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    fill_home(str(home), str(skeleton), AGENT)
    assert (owner(home / ".config" / "tool"), (home / ".config" / "tool").read_text()) == (AGENT, "fast\n")


def test_a_home_with_something_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    fill_home(str(tmp_path), "/etc/skel", AGENT)
    assert [file.name for file in tmp_path.iterdir()] == ["notes"]


def test_a_home_that_is_not_the_users_is_called_so(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    said, child = "nothing was said", os.fork()
    if child == 0:
        try:
            os.setresuid(4242, 4242, 4242)
            fill_home(str(tmp_path), "/etc/skel", AGENT)
        except HomeNotWritableError as error:
            said = str(error)
        finally:
            os._exit(0 if f"user 4242 may not write the agent's home {tmp_path}, which is of user 0" in said else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_workspace_is_made_and_is_the_agents(settings: Settings, tmp_path: Path) -> None:
    prepare_workspace(settings)
    assert owner(tmp_path / "work" / "deep") == AGENT


def test_a_mounted_workspace_of_roots_is_given_to_the_agent_and_keeps_its_mode(settings: Settings, tmp_path: Path) -> None:
    mounted = tmp_path / "work" / "deep"
    mounted.mkdir(parents=True)
    mounted.chmod(0o770)
    prepare_workspace(settings)
    assert (owner(mounted), mode(mounted)) == (AGENT, 0o770)


def test_a_workspace_behind_a_link_is_not_given_away(settings: Settings, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    (precious / "deep").mkdir(parents=True)
    (tmp_path / "work").symlink_to(precious)
    prepare_workspace(settings)
    assert owner(precious / "deep") == (0, 0)


def test_nothing_is_made_behind_a_link_of_the_agents(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "work").symlink_to(precious)
    (tmp_path / "log").symlink_to(precious)
    prepare_workspace(settings)
    prepare(settings, boxed=True)
    assert list(precious.iterdir()) == []
    assert owner(precious) == (0, 0)
    assert f"boot: {tmp_path}/log is left as it is: {tmp_path}/log is a link" in capsys.readouterr().err


def test_a_file_in_place_of_the_workspace_does_not_stop_the_start(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    for wrong in (tmp_path / "work" / "deep", tmp_path / "work"):
        wrong.rmdir() if wrong.is_dir() else None
        wrong.touch()
        prepare_workspace(settings)
        assert "is left as it is: " in capsys.readouterr().err
        wrong.unlink()
        assert owner(tmp_path) == (0, 0)


def test_a_new_home_is_filled_by_its_owner_and_not_by_root(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)  # which stops everybody but root
    os.chown(home, *AGENT)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError):
        fill_home(str(home), "/etc/skel", AGENT)
    assert list(home.iterdir()) == []


def test_a_link_in_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(NotADirectoryError):
        make_directory(str(tmp_path / "link"), 0o700, AGENT)
    assert owner(tmp_path / "target") == (0, 0)
