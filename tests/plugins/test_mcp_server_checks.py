import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.plugins.mcp_server_checks import check


def looked_at(folder: Path, document: Any) -> tuple[list[str], list[str]]:
    (folder / "mcp-servers.json").write_text(document if isinstance(document, str) else json.dumps(document))
    found = check(str(folder / "mcp-servers.json"))
    return found.added, found.problems


def test_servers_that_can_be_used_are_named(tmp_path: Path) -> None:
    servers = {"one": {"command": "sh"}, "two": {"url": "https://example.org/mcp"}, "off": {"command": "/none", "disabled": True}}

    assert looked_at(tmp_path, {"mcpServers": servers}) == (["one", "two", "off"], [])


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("{", "mcp-servers.json"),
        ([], "mcpServers"),
        ({"one": {}}, "either command or url"),
        ({"sandbox": {"command": "sh"}}, "the sandbox's own"),
        ({"one": {"command": "/no/such/program"}}, "there is no program /no/such/program"),
    ],
)
def test_an_mcp_server_that_cannot_start_is_reported(tmp_path: Path, document: Any, problem: str) -> None:
    _, [found] = looked_at(tmp_path, document)

    assert problem in found


def test_an_image_without_the_file_is_well() -> None:
    assert check("/nowhere").problems == []
