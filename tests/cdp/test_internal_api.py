"""What the API asks of the process that owns the browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import until

BrowserServer = Any


@pytest.mark.parametrize("body", ["[]", "{", '{"url_blocklist": 3}'])
def test_a_restart_that_makes_no_sense_changes_nothing(shared: BrowserServer, body: str) -> None:
    pid = shared.pid
    assert shared.request("POST", "/browser/restart", content=body).status_code == 400
    assert shared.pid == pid


def test_its_paths_are_not_those_of_devtools(shared: BrowserServer) -> None:
    assert shared.request("GET", "/cdp/browser").status_code == 404
    told = shared.get("/browser")
    assert (told["pid"], told["sandbox"]) == (shared.pid, "namespaces")


def test_messages_of_clients_are_counted_and_those_of_the_api_are_not(shared: BrowserServer) -> None:
    before = shared.get("/browser")["messages"]
    with shared.connect() as client:
        client.result("Browser.getVersion")
    with shared.connect(headers={"X-Sandbox-Caller": "api", "X-Sandbox-Scopes": "browser"}) as api:
        api.result("Browser.getVersion")
    assert shared.get("/browser")["messages"] == before + 1


HELD = {"epoch": 9, "state": "human", "holder": "ann", "reach": ["cdp", "gui"]}
FREE = {"epoch": 10, "state": "agent", "holder": None, "reach": []}
PERSON = {"X-Sandbox-Caller": "ann", "X-Sandbox-Scopes": "browser", "X-Sandbox-Actor": "person"}


@pytest.fixture
def held(shared: BrowserServer) -> Iterator[BrowserServer]:
    assert shared.request("PUT", "/browser/control", json=HELD).status_code == 200
    yield shared
    assert shared.request("PUT", "/browser/control", json=FREE).status_code == 200


def test_while_a_person_has_control_clients_look_and_do_not_act(held: BrowserServer) -> None:
    with held.connect() as client, held.connect(headers=PERSON) as person:
        page = client.attach(client.pages()[0]["targetId"])
        assert client.result("Page.getFrameTree", page)
        refused = client.command("Runtime.evaluate", page, expression="document.title = 'mine'")
        assert "held_by_human: ann has control" in refused["error"]["message"]
        assert held.request("PUT", "/json/new?about:blank").status_code == 423
        assert held.request("GET", f"/json/close/{client.pages()[0]['targetId']}").status_code == 423
        mine = person.attach(person.pages()[0]["targetId"])
        assert person.evaluate("1 + 1", mine) == 2


def test_what_a_client_holds_down_is_released_when_a_person_takes_over(shared: BrowserServer) -> None:
    with shared.connect() as client:
        page = client.attach(client.result("Target.createTarget", url="about:blank")["targetId"])
        listening = "window.ups = []; addEventListener('keyup', event => ups.push(event.key))"
        client.evaluate(listening, page)
        client.result("Input.dispatchKeyEvent", page, type="keyDown", key="Shift", code="ShiftLeft", windowsVirtualKeyCode=16)
        shared.request("PUT", "/browser/control", json=HELD)
        shared.request("PUT", "/browser/control", json=FREE)
        shared.request("PUT", "/browser/control", json=HELD)
        shared.request("PUT", "/browser/control", json=FREE)
        until(lambda: client.evaluate("ups.length", page))  # nobody waits for what the page does with a release
        assert client.evaluate("ups", page) == ["Shift"]


@pytest.mark.parametrize("body", ["", "[]", '{"epoch": 1}'])
def test_what_says_nothing_of_control_changes_nothing(shared: BrowserServer, body: str) -> None:
    assert shared.request("PUT", "/browser/control", content=body).status_code == 400
