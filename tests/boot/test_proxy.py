import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot.proxy import prepare, prepare_upstream
from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.egress.default_upstream import DefaultUpstream
from sandbox_server.settings import Paths, Settings, load

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


def test_what_leaves_first_goes_by_the_upstream_of_the_variables(tmp_path: Path) -> None:
    paths = Paths(egress=str(tmp_path), run=f"{tmp_path}/run")
    settings = replace(load({"PROXY_SERVER": "http://a:b@proxy:3128", "PROXY_EXCLUDE": ".near"}), paths=paths)
    file = tmp_path / "upstream.json"

    prepare_upstream(replace(Settings(), paths=paths))
    assert not file.exists()
    prepare_upstream(settings)
    assert DefaultUpstream(str(file)).of(Destination(443, "a.example"))
    assert access(file) == (992, 990, 0o600)

    file.write_text('{"url": null}')
    prepare_upstream(settings)
    assert file.read_text() == '{"url": null}', "what was changed while it ran counts"
