"""Each tool of the API is in a toolset, and the default ones are few."""

import json
from pathlib import Path

import pytest

import sandbox_server
from sandbox_server.mcp.toolsets import ALL, DEFAULT, NAMES, TOOLSETS, in_toolset

MOST_LISTED = 40


def tools() -> set[str]:
    """The tools of the API's description, with those that belong to the converter's server."""
    document = json.loads(Path(sandbox_server.__file__).with_name("openapi.json").read_text())
    entries = [entry for path in document["paths"].values() for entry in path.values() if "x-tool" in entry]
    aliases = {alias for entry in entries for alias in entry.get("x-aliases", ()) if alias == "markitdown_convert_to_markdown"}
    return {entry["x-tool"] for entry in entries} | aliases


def test_each_tool_is_in_a_toolset_and_each_name_is_a_tool() -> None:
    assert set().union(*TOOLSETS.values()) == tools()


def test_the_default_tools_are_few() -> None:
    assert len([name for name in tools() if in_toolset(name, "sandbox", DEFAULT)]) <= MOST_LISTED


@pytest.mark.parametrize(
    ("name", "server", "toolsets"),
    [
        ("sandbox_execute_bash", "sandbox", {DEFAULT, ALL, "work", "shell"}),
        ("sandbox_screen_window", "sandbox", {ALL, "desktop"}),
        ("chrome_devtools_click", "chrome_devtools", {ALL, "chrome_devtools"}),
        ("shop_buy", "shop", {DEFAULT, ALL}),
        ("sandbox_hello", "sandbox", {DEFAULT, ALL}),
    ],
)
def test_a_tool_is_in_its_toolsets(name: str, server: str, toolsets: set[str]) -> None:
    assert {toolset for toolset in NAMES if in_toolset(name, server, toolset)} == toolsets
