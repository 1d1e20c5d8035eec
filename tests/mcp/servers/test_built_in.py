import json
from pathlib import Path

import pytest

from sandbox_server.mcp.servers import built_in as module
from sandbox_server.mcp.servers.built_in import built_in, recorded_tools
from sandbox_server.settings import load


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "PACKAGES", str(tmp_path))
    monkeypatch.setattr(module, "RECORD", str(tmp_path / "tools.json"))
    return tmp_path


def test_the_browsers_devtools_are_there_for_who_may_drive_it() -> None:
    config = built_in(load({"PUBLIC_PORT": "9000"}))["chrome_devtools"]

    assert config.scope == "browser"
    assert "9000" in config.args
    assert "/run/sandbox-agent/token" in config.args


@pytest.mark.parametrize("name", ["DISABLE_BROWSER", "DISABLE_DESKTOP", "DISABLE_CHROME_DEVTOOLS"])
def test_built_in_servers_are_left_out_with_the_browser_or_by_their_own_setting(name: str) -> None:
    assert built_in(load({name: "true"})) == {}


def test_an_image_without_them_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", "/nowhere")

    assert built_in(load({})) == {}


def test_their_tools_are_known_from_the_build(packages: Path) -> None:
    (packages / "tools.json").write_text(json.dumps({"tools": [{"name": "click", "inputSchema": {"type": "object"}}]}))

    assert [tool.name for tool in recorded_tools()["chrome_devtools"]] == ["click"]


@pytest.mark.parametrize("content", [None, "", "{}", '{"tools": [{}]}'])
def test_without_a_record_they_are_asked(packages: Path, content: str | None) -> None:
    if content is not None:
        (packages / "tools.json").write_text(content)

    assert recorded_tools() == {}
