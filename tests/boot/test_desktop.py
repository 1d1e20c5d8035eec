"""The desktop's places are its own, and its cookie is for the two users that may use the display."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from Xlib import xauth

from sandbox_server.boot.desktop import COOKIE_BYTES, guest_environ, prepare
from sandbox_server.settings import Paths, Settings, load

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which needs root")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose desktop is in a directory of the test."""
    return replace(Settings(), paths=Paths(desktop=f"{tmp_path}/desktop", agent_run=f"{tmp_path}/agent", profiles=f"{tmp_path}/profiles"))


def access(path: Path) -> tuple[int, int, int]:
    """Owner, group and mode."""
    found = path.stat()
    return found.st_uid, found.st_gid, found.st_mode & 0o7777


def test_only_the_desktop_and_control_read_the_cookie(settings: Settings, tmp_path: Path) -> None:
    prepare(settings, tmp_path / "sockets")
    assert access(tmp_path / "desktop") == (991, 990, 0o750)
    assert access(tmp_path / "desktop/pulse") == (991, 990, 0o750)
    assert access(tmp_path / "desktop/authority") == (991, 990, 0o440)
    assert access(tmp_path / "sockets") == (0, 991, 0o1770)
    assert access(tmp_path / "agent/x11") == (0, 991, 0o775)


def test_only_the_desktop_opens_profiles_on_the_volume_too(settings: Settings, tmp_path: Path) -> None:
    prepare(settings, tmp_path / "sockets", volume=str(tmp_path / "volume"))
    assert access(tmp_path / "profiles") == access(tmp_path / "volume/profiles") == (991, 990, 0o700)


def test_clients_find_a_cookie_and_each_start_makes_another(settings: Settings, tmp_path: Path) -> None:
    cookies = set()
    for _ in range(2):
        prepare(settings, tmp_path / "sockets")
        found = xauth.Xauthority(settings.paths.authority).get_best_auth(xauth.FamilyLocal, os.uname().nodename.encode(), 99)  # type: ignore[arg-type] # as Xlib itself calls it
        cookies.add(found)
    assert {(name, len(cookie)) for name, cookie in cookies} == {(b"MIT-MAGIC-COOKIE-1", COOKIE_BYTES)}
    assert len(cookies) == 2


@pytest.mark.parametrize("kind", ["directory", "link", "file"])
def test_what_the_agent_made_in_place_of_the_sockets_is_moved_away(settings: Settings, tmp_path: Path, kind: str) -> None:
    sockets = tmp_path / "sockets"
    if kind == "directory":
        sockets.mkdir()
        (sockets / "X99").touch()
    elif kind == "link":
        sockets.symlink_to(tmp_path)
    else:
        sockets.touch()
    os.chown(sockets, 1000, 1000, follow_symlinks=False)
    prepare(settings, sockets)
    assert access(sockets) == (0, 991, 0o1770)
    assert [file.name for file in sockets.iterdir()] == ["X99.localhost"]


def test_the_browser_finds_the_display_by_a_name_on_localhost(settings: Settings, tmp_path: Path) -> None:
    for _ in range(2):
        prepare(settings, tmp_path / "sockets")
        assert (tmp_path / "sockets/X99.localhost").readlink() == Path("X99")


def test_the_sound_server_is_told_of_a_microphone_only_where_it_is_asked_for(settings: Settings, tmp_path: Path) -> None:
    for asked in (True, False):
        prepare(replace(settings, stream=replace(settings.stream, microphone=asked)), tmp_path / "sockets")
        assert (tmp_path / "desktop/microphone").exists() == asked
    assert not Settings().stream.microphone


def test_the_agent_s_programs_are_told_where_the_display_is() -> None:
    assert guest_environ(Settings(), boxed=True) == {"DISPLAY": ":99"}
    assert guest_environ(Settings(), boxed=False) == {"DISPLAY": "unix:/run/sandbox-agent/x11/X99"}
    assert guest_environ(load({"DISABLE_DESKTOP": "true"}), boxed=True) == {}
