"""Enabled components are linked, the others are not."""

import shlex
from configparser import RawConfigParser
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot.components import link
from sandbox_server.settings import ComponentsSettings, HooksSettings, Paths, Settings
from sandbox_server.settings.egress import EgressSettings
from sandbox_server.settings.network import BoxPortsSettings
from tests.tables import table_test


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of an image with a few components and one added service."""
    for name in (
        "code/supervisord/components/api.conf",
        "code/supervisord/components/mcp.conf",
        "code/supervisord/components/post-ready.conf",
        "code/supervisord/components/notes.txt",
        "code/nginx/components/mcp.conf",
        "gem/supervisord/greeter.conf",
        "gem/supervisord/supervisord.code-server.conf",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    paths = Paths(run=f"{tmp_path}/run", boot=f"{tmp_path}/boot", code=f"{tmp_path}/code", added=(f"{tmp_path}/gem", f"{tmp_path}/missing"))
    return replace(Settings(), paths=paths)


def linked(folder: Path) -> set[str]:
    """What the links in a directory lead to, relative to the image."""
    return {path.read_text() for path in folder.iterdir()}


def test_built_in_and_added_services_are_linked(settings: Settings, tmp_path: Path) -> None:
    link(settings)
    assert linked(tmp_path / "boot/supervisord") == {
        "code/supervisord/components/api.conf",
        "code/supervisord/components/mcp.conf",
        "gem/supervisord/greeter.conf",
        "gem/supervisord/supervisord.code-server.conf",
    }


def test_a_disabled_component_is_left_out_with_its_routes(settings: Settings, tmp_path: Path) -> None:
    link(replace(settings, components=ComponentsSettings(frozenset({"mcp", "code-server"}))))
    assert linked(tmp_path / "boot/supervisord") == {"code/supervisord/components/api.conf", "gem/supervisord/greeter.conf"}
    assert linked(tmp_path / "run/nginx/components") == set()


def test_without_the_browser_nobody_owns_one(settings: Settings, tmp_path: Path) -> None:
    folder = Path(settings.paths.code, "supervisord/components")
    (folder / "cdp.conf").write_text("code/supervisord/components/cdp.conf")
    link(settings)
    assert "code/supervisord/components/cdp.conf" in linked(tmp_path / "boot/supervisord")
    link(replace(settings, components=ComponentsSettings(frozenset({"browser"}))))
    assert "code/supervisord/components/cdp.conf" not in linked(tmp_path / "boot/supervisord")


def test_a_user_without_a_name_has_no_message_bus(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(settings.paths.code, "supervisord/components")
    (folder / "desktop-bus.conf").write_text("code/supervisord/components/desktop-bus.conf")
    link(settings)
    assert "code/supervisord/components/desktop-bus.conf" in linked(tmp_path / "boot/supervisord")
    monkeypatch.setattr("sandbox_server.drivers.stats.system.has_name", lambda: False)
    link(settings)
    assert "code/supervisord/components/desktop-bus.conf" not in linked(tmp_path / "boot/supervisord")


def test_a_disabled_component_is_left_out_with_its_parts(settings: Settings, tmp_path: Path) -> None:
    for name in ("desktop", "desktop-bus", "desktopper"):
        (tmp_path / f"code/supervisord/components/{name}.conf").write_text(name)
    link(replace(settings, components=ComponentsSettings(frozenset({"desktop"}))))
    assert linked(tmp_path / "boot/supervisord") & {"desktop", "desktop-bus", "desktopper"} == {"desktopper"}


def test_a_component_that_was_disabled_since_the_last_start_disappears(settings: Settings, tmp_path: Path) -> None:
    link(settings)
    link(replace(settings, components=ComponentsSettings(frozenset({"mcp"}))))
    assert "code/supervisord/components/mcp.conf" not in linked(tmp_path / "boot/supervisord")


def test_the_hook_for_readiness_is_a_program_only_where_it_is_set(settings: Settings, tmp_path: Path) -> None:
    link(replace(settings, hooks=HooksSettings(post_ready="true")))
    assert "code/supervisord/components/post-ready.conf" in linked(tmp_path / "boot/supervisord")


def test_the_gateway_is_told_where_to_listen(settings: Settings, tmp_path: Path) -> None:
    link(settings)
    assert "listen 0.0.0.0:8080;" in (tmp_path / "run/nginx/listen.conf").read_text()
    assert "127.0.0.1:8888 " in (tmp_path / "run/nginx/upstreams.conf").read_text()
    assert "'self'" in (tmp_path / "run/nginx/origins.conf").read_text()


COMPONENTS = sorted(Path(__file__).parents[2].joinpath("supervisord/components").glob("*.conf"))


@table_test({conf.stem: conf for conf in COMPONENTS})
def test_a_program_of_ours_has_a_user_a_directory_and_a_python_that_knows_no_users_packages(conf: Path) -> None:
    parser = RawConfigParser(inline_comment_prefixes=(";",))
    parser.read(conf)
    (name,) = parser.sections()
    program = parser[name]
    assert program["user"]
    assert program["directory"] == "/"
    assert shlex.split(program["command"])[0].startswith("/")
    assert program["command"].count("python") == program["command"].count("/opt/venv/bin/python -I -m sandbox_server")


NETWORKED = ("box", "box-gateway", "box-proxy", "box-proxy-direct", "egress", "proxy", "proxy-direct")


def programs(settings: Settings, tmp_path: Path, *, with_box: bool) -> set[str]:
    """Which of the programs that depend on the box's network are linked."""
    for name in NETWORKED:
        Path(settings.paths.code, f"supervisord/components/{name}.conf").write_text(name)
    link(settings, with_box=with_box, with_egress=with_box and settings.egress.enabled)
    return linked(tmp_path / "boot/supervisord") & set(NETWORKED)


def test_the_proxy_and_a_part_of_the_gateway_are_in_the_boxs_network(settings: Settings, tmp_path: Path) -> None:
    expected = {"box", "box-gateway", "box-proxy", "box-proxy-direct", "egress"}
    assert programs(settings, tmp_path, with_box=True) == expected
    without_proxy = replace(settings, components=ComponentsSettings(frozenset({"proxy"})))
    assert programs(without_proxy, tmp_path, with_box=True) == {"box", "box-gateway", "egress"}


def test_without_a_network_of_the_box_the_proxy_is_in_the_containers(settings: Settings, tmp_path: Path) -> None:
    off = replace(settings, egress=EgressSettings(enabled=False))
    assert programs(off, tmp_path, with_box=True) == {"box", "proxy", "proxy-direct"}
    assert {"proxy", "proxy-direct"} <= programs(settings, tmp_path, with_box=False)
    assert not programs(settings, tmp_path, with_box=False) & {"box", "box-gateway", "box-proxy", "box-proxy-direct"}


def test_routes_to_the_agents_programs_are_those_of_the_part_in_the_box_too(settings: Settings, tmp_path: Path) -> None:
    for name in ("preview", "jupyter", "code-server", "api"):
        Path(settings.paths.code, f"nginx/components/{name}.conf").write_text(name)
    link(replace(settings, components=ComponentsSettings(frozenset({"jupyter"}))), with_box=True)
    assert linked(tmp_path / "run/nginx/box") == {"preview", "code-server"}


def test_published_ports_are_servers_of_that_part(settings: Settings, tmp_path: Path) -> None:
    link(replace(settings, box_ports=BoxPortsSettings(published=(3000,))), with_box=True)
    assert "listen 0.0.0.0:3000;" in (tmp_path / "run/nginx/published.conf").read_text()
