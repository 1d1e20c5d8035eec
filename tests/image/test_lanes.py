"""Lanes in the running image: two agents at once, each in pages of its own, beside the agent of the API."""

import base64
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from playwright.sync_api import sync_playwright
from websockets.exceptions import InvalidStatus

from tests.image.container import Sandbox
from tests.image.test_browser import devtools
from tests.image.test_control import Person

ACTS = 100
"""Clicks of each agent."""
FORM = """<title>{0}</title><button style="width:200px;height:100px" onclick="document.title = '{0} ' + (clicks += 1)">go</button>
<script>clicks = 0</script>"""


@pytest.fixture
def lanes(sandbox: Sandbox) -> Iterator[tuple[str, str]]:
    """Two lanes."""
    names = "image-one", "image-two"
    try:
        for name in names:
            assert sandbox.request("POST", "/v1/lanes", json={"name": name}).status_code == 200
        yield names
    finally:
        for name in names:
            sandbox.request("DELETE", f"/v1/lanes/{name}")


def page_of(sandbox: Sandbox, lane: str) -> str:
    """The target id of the first page of a lane."""
    [page, *_] = [each for each in sandbox.request("GET", f"/cdp/json/list?lane={lane}").json() if each["type"] == "page"]
    return str(page["id"])


def click(sandbox: Sandbox, lane: str) -> str:
    """Click a button of a page that Playwright makes in a lane; the page's title counts."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(f"{sandbox.base_url}/cdp?lane={lane}", headers=dict(sandbox.headers))
        [context] = browser.contexts
        page = context.pages[0]
        page.set_content(FORM.format(lane))
        context.add_cookies([{"name": "lane", "value": lane, "url": "http://lanes.example"}])
        for _ in range(ACTS):
            page.click("button")
        assert [cookie.get("value") for cookie in context.cookies()] == [lane]
        title = page.title()
        browser.close()
        return title


def test_two_agents_act_at_once_in_their_own_pages_beside_the_api(sandbox: Sandbox, lanes: tuple[str, str]) -> None:
    before = [tab["url"] for tab in sandbox.request("GET", "/v1/browser/tabs").json()["data"]]
    with ThreadPoolExecutor() as threads:
        done = threads.map(lambda lane: click(sandbox, lane), lanes)
        for number in range(10):
            shown = sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": f"{number} * 2"})
            assert shown.json()["data"] == number * 2, shown.text
        assert list(done) == [f"{lane} {ACTS}" for lane in lanes]
    assert [tab["url"] for tab in sandbox.request("GET", "/v1/browser/tabs").json()["data"]] == before
    listed = {lane["name"]: lane["pages"] for lane in sandbox.request("GET", "/v1/lanes").json()["data"]["lanes"]}
    assert listed == dict.fromkeys(lanes, 1)


def test_nobody_else_reaches_a_lanes_pages(sandbox: Sandbox, lanes: tuple[str, str]) -> None:
    one, two = (page_of(sandbox, lane) for lane in lanes)
    assert not {one, two} & {each["id"] for each in sandbox.request("GET", "/json/list").json()}
    for path in (f"/devtools/page/{one}", f"/devtools/page/{one}?lane={lanes[1]}"):
        with pytest.raises(InvalidStatus, match="404"):
            devtools(sandbox, path)
    with devtools(sandbox, f"/devtools/browser?lane={lanes[0]}") as client:
        assert [page["targetId"] for page in client.pages()] == [one]
        assert "No target" in client.command("Target.attachToTarget", targetId=two, flatten=True)["error"]["message"]
        assert "whole browser" in client.command("Browser.close")["error"]["message"]


def test_who_takes_the_screen_takes_the_lanes_on_it(sandbox: Sandbox, lanes: tuple[str, str]) -> None:
    person = Person(sandbox)
    with devtools(sandbox, f"/devtools/browser?lane={lanes[0]}") as client:
        session = client.attach(page_of(sandbox, lanes[0]))
        person.control("take")
        try:
            assert "held_by_human" in client.command("Page.navigate", session, url="about:blank#agent")["error"]["message"]
            assert sandbox.request("POST", "/v1/lanes", json={"name": "image-late"}).status_code == 423
            assert sandbox.request("DELETE", f"/v1/lanes/{lanes[0]}").status_code == 423
        finally:
            person.control("release")
        client.result("Page.navigate", session, url="about:blank#agent")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/lanes", 422),
        ("DELETE", "/v1/lanes/image-none", 404),
        ("GET", "/v1/browser/tabs?lane=image-one", 400),
        ("GET", "/cdp/json/list?lane=image-none", 404),
        ("GET", "/cdp/json/version?lane=Image%20One", 400),
    ],
)
def test_a_lane_that_is_not_there_is_said(sandbox: Sandbox, method: str, path: str, status: int) -> None:
    answer = sandbox.request(method, path, json={"name": "Not a name"} if method == "POST" else None)
    assert (answer.status_code, answer.json().get("success", False)) == (status, False)


def test_a_deleted_lane_is_gone_with_what_it_knew(sandbox: Sandbox, lanes: tuple[str, str]) -> None:
    with devtools(sandbox, f"/devtools/browser?lane={lanes[0]}") as client:
        client.result("Storage.setCookies", cookies=[{"name": "who", "value": "one", "url": "http://lanes.example"}])
        assert sandbox.request("DELETE", f"/v1/lanes/{lanes[0]}").status_code == 200
        assert "deleted" in client.until_closed()[1]
    assert sandbox.request("POST", "/v1/lanes", json={"name": lanes[0]}).status_code == 200
    assert sandbox.request("POST", "/v1/lanes", json={"name": lanes[0]}).status_code == 409
    with devtools(sandbox, f"/devtools/browser?lane={lanes[0]}") as again:
        assert again.result("Storage.getCookies")["cookies"] == []


def test_a_token_is_kept_to_the_lane_that_it_names(start_sandbox: Callable[..., Sandbox]) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    sandbox = start_sandbox(env={"JWT_PUBLIC_KEY": base64.b64encode(pem).decode()})
    claims = {"exp": int(time.time()) + 3600, "sub": "ann", "lanes": ["ann"]}
    token = {"Authorization": f"Bearer {jwt.encode(claims, key, 'ES256')}"}
    assert sandbox.request("POST", "/v1/lanes", json={"name": "bob"}).status_code == 200

    def status(method: str, path: str, headers: dict[str, str] | None = None, **body: object) -> int:
        return sandbox.request(method, path, headers=token | (headers or {}), json=body or None).status_code

    assert status("POST", "/v1/lanes", name="ann") == 200
    for method, path in (
        ("GET", "/json/list?lane=bob"),
        ("GET", "/json/list?lane=main"),
        ("DELETE", "/v1/lanes/bob"),
        ("GET", "/v1/browser/tabs"),
        ("GET", "/v1/browser/screenshot"),
        ("GET", "/v1/browser/cookies"),
        ("GET", "/stream/"),
        ("GET", "/vnc/index.html"),
    ):
        assert status(method, path) == 403, path
    assert status("POST", "/v1/browser/actions", action_type="MOVE_TO", x=1, y=1) == 403
    assert status("POST", "/v1/display/record", action="start") == 403
    assert status("POST", "/v1/lanes", name="eve") == 403
    assert status("GET", "/json/list?lane=bob", {"X-Sandbox-Lanes": "*"}) == 403
    for headers in (token, token | {"X-Sandbox-Lanes": "bob"}):
        listed = sandbox.request("GET", "/cdp/json/list", headers=headers).json()
        assert [each["id"] for each in listed if each["type"] == "page"] == [page_of(sandbox, "ann")]
    assert [lane["name"] for lane in sandbox.request("GET", "/v1/lanes", headers=token).json()["data"]["lanes"]] == ["ann"]


def test_a_tool_that_names_a_lane_does_not_act_in_another_place(sandbox: Sandbox, lanes: tuple[str, str]) -> None:
    def called(tool: str, arguments: dict[str, str], lane: str = lanes[0]) -> str:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        return sandbox.request("POST", f"/mcp?lane={lane}", json=asked).text

    assert "and not in a lane" in called("browser_navigate", {"url": "about:blank"})
    assert "/home/gem" in called("sandbox_execute_bash", {"cmd": "pwd"})
    assert "no name of a lane" in called("sandbox_execute_bash", {"cmd": "pwd"}, "A")
