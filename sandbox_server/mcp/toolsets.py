"""Groups of tools by what they are for. Without `?toolsets=` an agent is shown DEFAULT: models choose worse among many tools.

The default ones are those that clients of AIO Sandbox know, with those to ask a person and to undo. Tools of servers that were added, and
those of `custom_tools`, are in DEFAULT as well: who runs the sandbox has added them for its agents.
"""

from collections.abc import Mapping

ALL, DEFAULT = "all", "default"

_KNOWN_BROWSER = frozenset(
    {
        "browser_click",
        "browser_close",
        "browser_close_tab",
        "browser_evaluate",
        "browser_form_input_fill",
        "browser_get_clickable_elements",
        "browser_get_download_list",
        "browser_get_markdown",
        "browser_get_text",
        "browser_go_back",
        "browser_go_forward",
        "browser_hover",
        "browser_navigate",
        "browser_new_tab",
        "browser_press_key",
        "browser_read_links",
        "browser_screenshot",
        "browser_scroll",
        "browser_select",
        "browser_switch_tab",
        "browser_tab_list",
        "browser_vision_screen_capture",
        "browser_vision_screen_click",
        "sandbox_get_browser_info",
    }
)
_KNOWN_DESKTOP = frozenset({"sandbox_browser_execute_action", "sandbox_browser_screenshot"})
_KNOWN_WORK = frozenset(
    {
        "sandbox_convert_to_markdown",
        "sandbox_execute_bash",
        "sandbox_execute_code",
        "sandbox_file_operations",
        "sandbox_get_context",
        "sandbox_get_packages",
        "sandbox_str_replace_editor",
    }
)
_ASKING = frozenset({"control_request", "control_status", "request_human", "wait_for_human"})
_UNDOING = frozenset({"checkpoint_create", "checkpoint_restore"})

TOOLSETS: Mapping[str, frozenset[str]] = {
    "browser": _KNOWN_BROWSER | {"browser_fill_secret"},
    "profiles": frozenset({"browser_list_profiles", "browser_use_profile"}),
    "desktop": _KNOWN_DESKTOP
    | {
        "sandbox_browser_execute_actions",
        "sandbox_screen_click",
        "sandbox_screen_elements",
        "sandbox_screen_launch",
        "sandbox_screen_window",
    },
    "work": _KNOWN_WORK | {"sandbox_load_skill"},
    "shell": frozenset({"sandbox_execute_bash", "sandbox_shell_kill", "sandbox_shell_view", "sandbox_shell_wait", "sandbox_shell_write"}),
    "folders": frozenset({"folder_list", "folder_sync"}),
    "people": _ASKING,
    "undo": _UNDOING | {"checkpoint_diff", "checkpoint_list"},
    "network": frozenset({"request_access", "sandbox_list_ports"}),
    "markitdown": frozenset({"markitdown_convert_to_markdown"}),
    "chrome_devtools": frozenset(),
}
"""The tools of the API by toolset. `chrome_devtools` has all tools of the server of that name."""

NAMES = (DEFAULT, *TOOLSETS, ALL)
_LISTED = _KNOWN_BROWSER | _KNOWN_DESKTOP | _KNOWN_WORK | _ASKING | _UNDOING | {"request_access"}
_GROUPED = frozenset().union(*TOOLSETS.values())


def in_toolset(name: str, server: str, toolset: str) -> bool:
    """Whether a tool of a server is in a toolset."""
    if toolset == ALL:
        return True
    if toolset == DEFAULT:
        return name in _LISTED or (name not in _GROUPED and server != "chrome_devtools")
    return name in TOOLSETS[toolset] or server == toolset == "chrome_devtools"
