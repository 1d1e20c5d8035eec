import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot.proxy import prepare
from sandbox_server.settings import Paths, Settings

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which needs root")


def access(path: Path) -> tuple[int, int, int]:
    """Owner, group and mode."""
    found = path.stat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def test_the_proxy_and_control_share_a_directory_that_nobody_else_enters(tmp_path: Path) -> None:
    settings = replace(Settings(), paths=Paths(proxy=f"{tmp_path}/proxy"))

    prepare(settings)

    assert access(tmp_path / "proxy") == (990, 13, 0o2770)
    assert access(tmp_path / "proxy/start") == (990, 13, 0o660)
    assert stat.S_ISFIFO((tmp_path / "proxy/start").stat().st_mode)


def test_an_earlier_starts_configuration_is_gone(tmp_path: Path) -> None:
    settings = replace(Settings(), paths=Paths(proxy=f"{tmp_path}/proxy"))
    prepare(settings)
    (tmp_path / "proxy/haproxy.cfg").write_text("old")

    prepare(settings)

    assert sorted(os.listdir(tmp_path / "proxy")) == ["start"]
