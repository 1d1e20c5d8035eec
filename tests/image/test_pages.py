"""Pages driven from outside: by HTTP, and by an agent's tools."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.image.container import Sandbox
from tests.patience import PATIENCE_SECONDS

PAGE = "data:text/html," + quote(
    """<title>Shop</title><button onclick="document.title = confirm('Buy?')">Buy</button><a href="https://example.com/x">More</a>"""
)


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=sandbox.base_url, headers=sandbox.headers, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client


def tool(api: httpx.Client, name: str, **arguments: Any) -> Any:
    """What a tool gives, without a session."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    result = api.post("/mcp", json=call, headers={"Accept": "application/json"}).json()["result"]
    assert not result.get("isError"), result
    return result["content"][0]


def test_a_dialog_is_answered_and_told(api: httpx.Client) -> None:
    api.post("/v1/browser/page/navigate", json={"url": PAGE}).raise_for_status()
    dismissed = api.post("/v1/browser/page/click", json={"selector": "button"}).json()
    title = api.post("/v1/browser/page/evaluate", json={"expression": "document.title"}).json()["data"]
    api.post("/v1/browser/page/click", json={"selector": "button", "dialog": "accept"}).raise_for_status()

    assert (dismissed["success"], title) == (True, "false")
    assert api.post("/v1/browser/page/evaluate", json={"expression": "document.title"}).json()["data"] == "true"


@pytest.mark.slow
def test_a_page_that_hangs_is_told_and_left(api: httpx.Client) -> None:
    api.post("/v1/browser/page/navigate", json={"url": PAGE}).raise_for_status()
    api.post("/v1/browser/page/evaluate", json={"expression": "setTimeout(() => { for (;;); }, 100), null"})
    stuck = api.post("/v1/browser/page/evaluate", json={"expression": "new Promise(() => {})", "timeout": 5})
    landed = api.post("/v1/browser/page/navigate", json={"url": PAGE})

    assert (stuck.status_code, stuck.json()["success"]) == (409, False)
    assert landed.json()["data"]["title"] == "Shop"


def test_an_agent_drives_pages_by_the_tools_it_knows(api: httpx.Client) -> None:
    listing = tool(api, "browser_navigate", url=PAGE)["text"]
    tool(api, "browser_click", index=0)

    assert "[0]<button" in listing
    assert '[1]<a href="https://example.com/x">More</a>' in listing
    assert tool(api, "browser_evaluate", script="() => document.title")["text"] == "false"
    assert tool(api, "sandbox_browser_evaluate", script="1 + 1")["text"] == "2"
    assert tool(api, "browser_vision_screen_capture")["type"] == "image"
    assert "Buy" in tool(api, "browser_get_text")["text"]


def test_the_tools_of_the_contract_are_listed_and_their_older_names_are_not(api: httpx.Client) -> None:
    listing = api.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers={"Accept": "application/json"})
    names = {tool["name"] for tool in listing.json()["result"]["tools"]}
    words = (
        "navigate go_back go_forward close close_tab tab_list get_markdown get_text read_links get_clickable_elements new_tab "
        "switch_tab click hover select form_input_fill evaluate scroll press_key screenshot vision_screen_capture vision_screen_click "
        "get_download_list"
    )

    assert {f"browser_{word}" for word in words.split()} <= names
    assert not [name for name in names if name.startswith(("sandbox_browser_element", "browser_element"))]
