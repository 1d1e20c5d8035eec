"""Whose kernel this is."""

from pathlib import Path

import pytest

from sandbox_server.drivers.stats.gvisor import is_gvisor

GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"


@pytest.mark.parametrize(("version", "expected"), [(GVISOR, True), ("Linux version 4.4.0-210-generic (buildd@lcy01) #242\n", False)])
def test_it_is_known_by_its_version(tmp_path: Path, version: str, expected: bool) -> None:
    (tmp_path / "version").write_text(version)
    assert is_gvisor(str(tmp_path)) is expected


def test_without_a_version_it_is_not(tmp_path: Path) -> None:
    assert not is_gvisor(str(tmp_path))
