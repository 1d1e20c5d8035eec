"""Whether Chromium would start on a profile."""

from pathlib import Path

import pytest

from sandbox_server.drivers.profiles.condition import require_usable, version_in, version_of
from sandbox_server.drivers.profiles.problem import ProfileProblem
from tests.drivers.profiles.made import VERSION, make_profile, opened


def reason(profile: Path, installed: str = VERSION) -> str | None:
    with opened(profile) as descriptor:
        try:
            require_usable(descriptor, installed)
        except ProfileProblem as problem:
            return problem.reason
    return None


def test_a_whole_profile_is_usable_by_the_same_and_by_a_later_chromium(tmp_path: Path) -> None:
    profile = make_profile(tmp_path / "p")
    assert [reason(profile, version) for version in (VERSION, "156.0.1.1", "157.0.0.0")] == [None, None, None]
    (tmp_path / "empty").mkdir()
    assert reason(tmp_path / "empty") is None


def test_one_of_a_later_major_version_is_not(tmp_path: Path) -> None:
    assert reason(make_profile(tmp_path / "p", "157.0.0.1")) == "newer_chromium"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("Last Version", b"soon"),
        ("Last Version", b"1" * 100),
        ("Local State", b"{"),
        ("Local State", b"[]"),
        ("Default/Preferences", b"[" * 100_000),
        ("Default/Cookies", b"not a database at all"),
        ("Default/Network/Cookies", b"\0"),
    ],
)
def test_what_chromium_did_not_write_is_damage(tmp_path: Path, path: str, content: bytes) -> None:
    profile = make_profile(tmp_path / "p")
    (profile / path).write_bytes(content)
    assert reason(profile) == "damaged"


def test_the_version_that_last_ran_is_told(tmp_path: Path) -> None:
    with opened(make_profile(tmp_path / "p", "90.1.2.3")) as descriptor:
        assert version_of(descriptor) == "90.1.2.3"
    (tmp_path / "empty").mkdir()
    with opened(tmp_path / "empty") as descriptor:
        assert version_of(descriptor) is None


def test_this_chromium_s_version_is_in_what_its_program_writes() -> None:
    assert version_in(b"Chromium 156.0.8078.108 built on Debian\n") == VERSION
    for told in (b"", b"Chromium", b"156.0", b"\xff" * 5000 + b"1.2.3.4"):
        assert version_in(told) is None
