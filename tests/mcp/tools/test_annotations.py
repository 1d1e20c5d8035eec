"""What tools say of themselves, by what their operations declare."""

import json
from pathlib import Path

import sandbox_server
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.api_tools import protocol_tool
from sandbox_server.mcp.tools.catalog import read_catalog
from sandbox_server.mcp.tools.results import PAGE_TEXT

SCOPES = frozenset({"admin", "browser", "code", "control", "files", "shell", "view"})
CATALOG = read_catalog(json.loads(Path(sandbox_server.__file__).with_name("openapi.json").read_text()))
LISTED = CATALOG.listed(ToolFilter(SCOPES, toolsets=frozenset({"all"})))
TOOLS = {tool.name: protocol_tool(tool) for tool in LISTED}


def named(**hints: bool) -> set[str]:
    return {name for name, tool in TOOLS.items() if all(getattr(tool.annotations, hint) is value for hint, value in hints.items())}


def test_what_reads_changes_nothing_and_may_be_repeated() -> None:
    assert named(read_only_hint=True, destructive_hint=True) == set()
    assert named(read_only_hint=True, idempotent_hint=False) == set()
    assert {"browser_get_text", "control_status", "folder_list", "sandbox_shell_view"} <= named(read_only_hint=True)


def test_what_may_destroy_says_so() -> None:
    anything = {"sandbox_execute_bash", "sandbox_execute_code", "sandbox_shell_write", "browser_evaluate", "sandbox_screen_launch"}
    presses = {
        "browser_click",
        "browser_press_key",
        "browser_vision_screen_click",
        "sandbox_browser_execute_action",
        "sandbox_screen_click",
    }
    ends = {"browser_close_tab", "browser_use_profile", "checkpoint_restore", "sandbox_shell_kill", "sandbox_file_operations"}
    assert anything | presses | ends <= named(destructive_hint=True)
    assert {"browser_scroll", "browser_hover", "checkpoint_create", "request_human"} <= named(destructive_hint=False, read_only_hint=False)


def test_what_reaches_pages_hosts_and_people_says_so() -> None:
    assert named(open_world_hint=False) == {
        name
        for name in TOOLS
        if name.startswith(("checkpoint_diff", "checkpoint_list", "control_", "folder_list"))
        or name in {"sandbox_file_operations", "sandbox_get_context", "sandbox_get_packages", "sandbox_load_skill"}
        or name == "sandbox_str_replace_editor"
    }


def test_what_gives_a_pages_text_says_how_it_is_marked() -> None:
    marked = {name for name, tool in TOOLS.items() if PAGE_TEXT in str(tool.description)}
    pages = {"browser_get_text", "browser_get_markdown", "browser_get_clickable_elements", "browser_navigate"}
    assert marked == pages | {"sandbox_convert_to_markdown", "markitdown_convert_to_markdown"}


def test_at_most_forty_tools_are_listed_unless_more_are_asked_for() -> None:
    default = [tool for tool in LISTED if ToolFilter(SCOPES).lists(tool)]
    assert 30 < len(default) <= 40 < len(TOOLS)
