import json
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.plugins.check_results import Findings
from sandbox_server.plugins.checks import findings, report, run
from sandbox_server.settings.paths import Paths

ROOT = Path(__file__).parent.parent.parent


def paths(folder: Path) -> Paths:
    return replace(Paths(), code=str(ROOT), added=(str(folder),), custom_tools=str(folder), mcp_servers=str(folder / "mcp-servers.json"))


def test_an_image_that_adds_nothing_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o755)
    run(paths(tmp_path), as_json=False)

    assert capsys.readouterr().out == "operations: none\nservices: none\nroutes: none\nMCP servers: none\n"


def test_an_operation_that_is_built_in_cannot_be_added_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o755)
    source = (
        'from sandbox_server.core import operation\n\n\nclass Mine:\n    tag = "mine"\n\n    @operation("GET /v1/sandbox", scope="view")\n'
    )
    (tmp_path / "mine.py").write_text(f'{source}    async def mine(self) -> None:\n        """Do."""\n')
    (tmp_path / "mine.py").chmod(0o644)
    (tmp_path / "mcp-servers.json").write_text('{"bad": {}}')

    with pytest.raises(SystemExit) as ended:
        run(paths(tmp_path), as_json=True)
    told = {each["kind"]: each["problems"] for each in json.loads(capsys.readouterr().out)}

    assert ended.value.code == 1
    assert "GET /v1/sandbox is" in told["operations"][0]
    assert "either command or url" in told["MCP servers"][0]
    assert told["services"] == []


def test_problems_stand_below_what_they_are_about() -> None:
    assert report([Findings("services", ["a", "b"], ["b.conf: no"])], as_json=False) == "services: a, b\n  wrong: b.conf: no"


def test_what_is_built_in_is_known(tmp_path: Path) -> None:
    assert [each.kind for each in findings(paths(tmp_path))] == ["operations", "services", "routes", "MCP servers"]
