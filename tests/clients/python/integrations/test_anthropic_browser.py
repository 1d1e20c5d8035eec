"""The browser toolset in the loop of Anthropic's own SDK, with a scripted model and a server that answers as a test says."""

from typing import Any

import httpx
import pytest
from tandem import Sandbox

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.messages_model import Block, Script, playing, says, uses

pytest.importorskip("anthropic", reason="tests/image/test_integrations.py runs these with the framework")
TABS = [
    {"index": 0, "url": "https://a.example/", "title": "A", "active": False},
    {"index": 1, "url": "https://b.example/", "title": "B", "active": True},
]
ELEMENT = {
    "tag": "input",
    "role": "textbox",
    "type": "text",
    "name": "Mail",
    "value": "",
    "href": None,
    "placeholder": "you@",
    "frame": None,
}
BOX = {"x": 1, "y": 2, "width": 3, "height": 4, "in_viewport": True, "checked": None, "disabled": False, "options": None}
ELEMENTS = [
    {**ELEMENT, **BOX, "index": 0},
    {**ELEMENT, **BOX, "index": 1, "type": "checkbox", "role": "checkbox", "name": "News", "checked": True},
    {**ELEMENT, **BOX, "index": 2, "tag": "select", "type": None, "role": "combobox", "name": "Seat", "options": ["aisle", "window"]},
    {**ELEMENT, **BOX, "index": 3, "name": "Far", "in_viewport": False},
]


def run(server: Server, *turns: Block, **options: Any) -> Script:
    """Run the loop until the model has said all, and give what it was told; after each call the tabs are asked for."""
    from anthropic import Anthropic
    from tandem.integrations.anthropic_browser import BrowserToolset

    sandbox = Sandbox("http://box", "key")
    sandbox._connection._http = httpx.Client(base_url="http://box", transport=httpx.MockTransport(server.take))
    with playing(*turns, says("done")) as script, Anthropic(base_url=script.url, api_key="none", max_retries=0) as model:
        messages: Any = [{"role": "user", "content": "go"}]
        given: Any = [BrowserToolset(sandbox, **options)]
        model.beta.messages.tool_runner(model="scripted", max_tokens=100, tools=given, messages=messages).until_done()
    return script


def tabs(server: Server) -> None:
    server.then(200, TABS)


def shown(result: Block) -> str:
    content = result["content"]
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)


def member(name: str, **given: object) -> Block:
    return uses(name, "browser", **given)


def test_the_model_is_offered_what_the_browser_has(server: Server) -> None:
    [offered] = run(server).asked[0]["tools"]
    assert offered["type"] == "browser_toolset_20260801"
    off = {name for name, config in offered["configs"].items() if config.get("enabled") is False}
    assert {"find", "zoom", "file_upload", "hold_key", "left_click_drag"} <= off
    assert not {"navigate", "left_click", "read_page", "form_input", "list_tabs"} & off


def test_a_page_is_loaded_and_the_tabs_are_told(server: Server) -> None:
    server.then(200, {"url": "https://a.example/", "title": "A", "status": 200})
    tabs(server)
    server.then(200, {"url": "https://b.example/", "title": "B", "status": None})
    tabs(server)
    script = run(server, member("navigate", url="a.example", tab_id="1"), member("navigate", url="back"))
    assert server.body(0) == {"url": "https://a.example", "tab": 1}
    assert server.asked[2].url.path == "/v1/browser/page/back"
    assert "Navigated to https://a.example/" in shown(script.results()[0])
    assert "b.example" in str(script.results()[0])


def test_what_is_read_is_acted_on_by_reference(server: Server) -> None:
    server.then(200, ELEMENTS)
    tabs(server)
    for _ in range(4):
        server.then(200, [] if _ == 2 else None)
        tabs(server)
    script = run(
        server,
        member("read_page"),
        member("left_click", target={"type": "ref", "ref": "ref_0"}),
        member("form_input", target={"type": "ref", "ref": "ref_0"}, value="ann@a.example"),
        member("form_input", target={"type": "ref", "ref": "ref_2"}, value="aisle"),
        member("form_input", target={"type": "ref", "ref": "ref_1"}, value=False),
    )
    read = shown(script.results()[0])
    assert "[ref_0] textbox 'Mail' placeholder='you@'" in read
    assert "[ref_1] checkbox 'News'" in read
    assert "checked" in read
    assert "Far" not in read
    sent = [(server.asked[number].url.path.rpartition("/")[2], server.body(number)) for number in (2, 4, 6, 8)]
    assert sent == [
        ("click", {"index": 0, "button": "left", "click_count": 1}),
        ("fill", {"index": 0, "text": "ann@a.example"}),
        ("select", {"index": 2, "value": "aisle"}),
        ("click", {"index": 1}),
    ]


def test_points_keys_and_the_wheel_are_sent_as_they_are(server: Server) -> None:
    for _ in range(2):
        server.then(200)
        tabs(server)
    server.then(200).then(200, {"x": 0, "y": 500})
    tabs(server)
    point = {"type": "coordinate", "x": 10, "y": 20}
    run(
        server,
        member("double_click", target=point),
        member("key", text="ctrl+a"),
        member("scroll", target=point, scroll_direction="down", scroll_amount=5),
    )
    assert server.body(0) == {"x": 10, "y": 20, "button": "left", "click_count": 2}
    assert server.body(2) == {"key": "ctrl+a"}
    assert server.body(5) == {"direction": "down", "amount": 500}


def test_what_cannot_be_done_is_an_error_that_the_model_reads(server: Server) -> None:
    server.then(423, {"reason": "held_by_human", "holder": "Ann", "epoch": 3})
    for _ in range(4):
        tabs(server)
    script = run(
        server,
        member("type", text="x"),
        member("left_click", target={"type": "ref", "ref": "ref_9"}),
        member("left_click", target={"type": "coordinate", "x": 1, "y": 1}, modifiers="shift"),
        member("screenshot", tab_id="first"),
    )
    said = [shown(result) for result in script.results()]
    assert all(result["is_error"] for result in script.results())
    assert "A person has control of the computer now" in said[0]
    assert "read the page first" in said[1]
    assert "no modifiers" in said[2]
    assert "there is no tab 'first'" in said[3]


def test_scripts_are_off_until_they_are_allowed(server: Server) -> None:
    assert run(server).asked[0]["tools"][0].get("configs", {}).get("javascript_exec", {}).get("enabled") is not True
    server.then(200, 42)
    tabs(server)
    allowed = {"configs": {"javascript_exec": {"enabled": True}}, "confirm": lambda context: True}
    assert "42" in shown(run(server, member("javascript_exec", text="6 * 7"), **allowed).results()[0])


def test_what_the_network_did_is_told_once(server: Server) -> None:
    seen = {
        "url": "https://a.example/x",
        "method": "GET",
        "resource_type": "xhr",
        "status": 200,
        "status_text": "OK",
        "mime_type": "text/html",
    }
    seen |= {"from_cache": False, "failure": None, "duration": 0.1, "size": 3, "page": "P"}
    first, second = {**seen, "started": "2026-01-01T00:00:00Z"}, {**seen, "started": "2026-01-01T00:00:01Z", "url": "https://a.example/y"}
    server.then(200, [first])
    tabs(server)
    server.then(200, [first, second])
    tabs(server)
    script = run(server, member("read_network"), member("read_network"), configs={"read_network": {"enabled": True}})
    assert "GET https://a.example/x 200 text/html" in shown(script.results()[0])
    assert ("/x 200" in shown(script.results()[1]), "/y 200" in shown(script.results()[1])) == (False, True)
