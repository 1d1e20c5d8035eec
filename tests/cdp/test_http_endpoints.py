"""What Chromium's own DevTools server answers over HTTP."""

from typing import Any

import pytest

from tests.patience import until

BrowserServer = Any


@pytest.mark.parametrize("path", ["/json/version", "/json/version/", "/cdp/json/version"])
def test_the_version_tells_where_to_connect(shared: BrowserServer, path: str) -> None:
    version = shared.get(path)
    assert version["Browser"].startswith("Chrome/")
    assert version["Protocol-Version"] == "1.3"
    prefix = "/cdp" if path.startswith("/cdp") else ""
    assert version["webSocketDebuggerUrl"].startswith(f"ws://sandbox.example:8080{prefix}/devtools/browser/")
    with shared.connect(version["webSocketDebuggerUrl"].removeprefix("ws://sandbox.example:8080")) as client:
        assert client.result("Browser.getVersion")["product"] == version["Browser"]


def test_addresses_are_those_by_which_the_caller_came(shared: BrowserServer) -> None:
    headers = {"X-Forwarded-Host": "box.example", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/one"}
    named = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "browser"}
    version = shared.request("GET", "/json/version", headers=headers | named).json()
    assert version["webSocketDebuggerUrl"].startswith("wss://box.example/one/devtools/browser/")


def test_a_tab_is_opened_listed_and_closed(shared: BrowserServer) -> None:
    opened = shared.request("PUT", "/json/new?about:blank%23first").json()
    assert (opened["type"], opened["url"]) == ("page", "about:blank#first")
    for path in ("/json", "/json/list", "/json/", "/cdp/json"):
        listed = shared.get(path)
        assert opened["id"] in [target["id"] for target in listed]
        assert listed[0]["type"] == "page"
    with shared.connect(opened["webSocketDebuggerUrl"].removeprefix("ws://sandbox.example:8080")) as page:
        assert page.evaluate("location.href") == "about:blank#first"
    assert shared.request("GET", f"/json/activate/{opened['id']}").text == "Target activated"
    assert shared.request("GET", f"/json/close/{opened['id']}").text == "Target is closing"
    until(lambda: shared.request("GET", f"/json/close/{opened['id']}").status_code == 404)  # it closes in its own time


@pytest.mark.parametrize("path", ["/json/activate/NONE", "/json/close/NONE"])
def test_a_target_that_does_not_exist_is_named(shared: BrowserServer, path: str) -> None:
    response = shared.request("GET", path)
    assert (response.status_code, response.text) == (404, "No such target id: NONE")


def test_a_tab_is_not_opened_by_a_get(shared: BrowserServer) -> None:
    before = len(shared.get("/json"))
    response = shared.request("GET", "/json/new?about:blank")
    assert (response.status_code, len(shared.get("/json"))) == (405, before)
    assert "PUT" in response.text


@pytest.mark.parametrize(("headers", "status"), [({}, 401), ({"X-Sandbox-Caller": "eve", "X-Sandbox-Scopes": "view files"}, 403)])
@pytest.mark.parametrize("path", ["/json", "/json/version", "/browser"])
def test_nobody_is_answered_who_may_not_use_the_browser(shared: BrowserServer, path: str, headers: dict[str, str], status: int) -> None:
    response = shared.request("GET", path, headers=headers)
    assert (response.status_code, response.json()["success"]) == (status, False)


def test_the_protocol_is_not_made_up_where_the_image_lacks_it(shared: BrowserServer) -> None:
    assert shared.request("GET", "/json/protocol").status_code == 404
