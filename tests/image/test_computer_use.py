"""The action schemas of three vendors, through the gateway: each clicks and types in a real page, and sees what came of it."""

import base64
import io
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from tests.image.container import PAINTED
from tests.image.test_control import Person, person
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

__all__ = ["person"]
PAGE = "data:text/html,<title>page</title><body style='margin:0'><input id=i style='position:fixed;inset:0;width:100vw;height:100vh'>"
SHOWN = {"width": 1024, "height": 819}


def evaluate(sandbox: "Sandbox", expression: str) -> Any:
    return sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": expression}).json()["data"]


@pytest.fixture
def page(sandbox: "Sandbox") -> "Sandbox":
    """A page that is one field, in front."""
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": PAGE}).raise_for_status()
    assert evaluate(sandbox, f"{PAINTED}.then(() => 1)") == 1
    return sandbox


def call(sandbox: "Sandbox", vendor: str, **body: Any) -> Any:
    answer = sandbox.request("POST", f"/v1/computer/{vendor}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def size_of(data: str) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(data))).size


def typed(sandbox: "Sandbox") -> str:
    value: str = evaluate(sandbox, "document.querySelector('#i').value")
    return value


def test_anthropics_tool(page: "Sandbox") -> None:
    middle = [SHOWN["width"] // 2, SHOWN["height"] // 2]
    call(page, "anthropic", input={"action": "left_click", "coordinate": middle}, display=SHOWN)
    block = call(page, "anthropic", input={"action": "type", "text": "Ada"}, display=SHOWN, tool_use_id="toolu_1")
    until(lambda: typed(page) == "Ada")
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "toolu_1")
    assert size_of(block["content"][0]["source"]["data"]) == (SHOWN["width"], SHOWN["height"])
    call(page, "anthropic", name="key", input={"text": "ctrl+a"})
    call(page, "anthropic", name="key", input={"text": "BackSpace"})
    until(lambda: typed(page) == "")


def test_openais_tool(page: "Sandbox") -> None:
    actions = [{"type": "click", "x": SHOWN["width"] // 2, "y": SHOWN["height"] // 2, "button": "left"}, {"type": "type", "text": "Grace"}]
    item = call(page, "openai", actions=actions, display=SHOWN, call_id="call_1")
    until(lambda: typed(page) == "Grace")
    assert (item["type"], item["call_id"]) == ("computer_call_output", "call_1")
    assert size_of(item["output"]["image_url"].removeprefix("data:image/png;base64,")) == (SHOWN["width"], SHOWN["height"])


def test_geminis_tool(page: "Sandbox") -> None:
    arguments = {"x": 500, "y": 500, "text": "Jean", "press_enter": False}
    part = call(page, "gemini", name="type_text_at", args=arguments, display=SHOWN)["function_response"]
    until(lambda: typed(page) == "Jean")
    assert part["response"]["url"].startswith("data:text/html")
    assert size_of(part["parts"][0]["inline_data"]["data"]) == (SHOWN["width"], SHOWN["height"])
    call(page, "gemini", name="navigate", args={"url": "data:text/html,<title>there</title>"})
    until(lambda: evaluate(page, "document.title") == "there")
    call(page, "gemini", name="go_back")
    until(lambda: evaluate(page, "document.title") == "page")


def test_what_is_unknown_is_named_and_while_a_person_drives_it_is_refused(page: "Sandbox", person: Person) -> None:
    for vendor, body in (("anthropic", {"input": {"action": "fly"}}), ("openai", {"action": {"type": "fly"}}), ("gemini", {"name": "fly"})):
        refused = page.request("POST", f"/v1/computer/{vendor}", json=body)
        assert (refused.status_code, "there is no action 'fly'" in refused.text) == (422, True)
    person.control("take")
    for vendor, body in (
        ("anthropic", {"input": {"action": "key", "text": "a"}}),
        ("openai", {"action": {"type": "wait"}}),
        ("gemini", {"name": "go_back"}),
    ):
        assert page.request("POST", f"/v1/computer/{vendor}", json=body).status_code == 423
