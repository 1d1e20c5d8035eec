"""Who drives, from outside: a person and an agent at one computer, through every way in."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from websockets.sync.client import ClientConnection

from sandbox_server.stream import wire
from tests.image.rfb import viewing
from tests.image.sockets import connect
from tests.image.test_vnc import pointer, signed_in
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

WRITE = {"id": "both", "input": "x", "press_enter": False}
MOVE = {"action_type": "MOVE_TO", "x": 40, "y": 50}


class Person:
    """A browser that is signed in."""

    def __init__(self, sandbox: "Sandbox", *scopes: str) -> None:
        self._sandbox = sandbox
        self.headers = signed_in(sandbox, **({"scopes": list(scopes)} if scopes else {}))

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._sandbox.http.request(method, f"{self._sandbox.base_url}{path}", headers=self.headers, **more)

    def control(self, verb: str, **fields: object) -> dict[str, Any]:
        answer = self.ask("POST", f"/v1/control/{verb}", json=fields)
        assert answer.status_code == 200, answer.text
        state: dict[str, Any] = answer.json()["data"]
        return state


@pytest.fixture
def person(sandbox: "Sandbox") -> Iterator[Person]:
    """Somebody who lets go of everything at the end."""
    found = Person(sandbox)
    yield found
    found.control("thaw")
    found.control("release")


def state_of(sandbox: "Sandbox") -> dict[str, Any]:
    state: dict[str, Any] = sandbox.request("GET", "/v1/control").json()["data"]
    return state


def return_control(sandbox: "Sandbox") -> None:
    """Give control back to the agent, whoever a test that failed has left it to."""
    if state_of(sandbox)["state"] != "agent":
        admin = Person(sandbox)
        admin.control("take")
        admin.control("release")


def act(sandbox: "Sandbox", query: str = "", **headers: str) -> httpx.Response:
    return sandbox.request("POST", f"/v1/browser/actions{query}", json=MOVE, headers=headers)


def test_while_a_person_has_control_nothing_of_the_agents_acts_and_reads_go_on(sandbox: "Sandbox", person: Person) -> None:
    assert act(sandbox).status_code == 200
    taken = person.control("take")
    assert (taken["state"], taken["scope"], taken["you"]["person"]) == ("human", ["cdp", "gui", "shell"], True)
    refusals = {
        "gui": act(sandbox),
        "page": sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"}),
        "shell": sandbox.request("POST", "/v1/shell/exec", json={"command": "true"}),
        "bash": sandbox.request("POST", "/v1/bash/exec", json={"command": "true"}),
        "code": sandbox.request("POST", "/v1/code/execute", json={"language": "python", "code": "1"}),
        "tabs": sandbox.request("PUT", "/cdp/json/new?about:blank"),
    }
    assert {name: answer.status_code for name, answer in refusals.items()} == dict.fromkeys(refusals, 423)
    told = refusals["gui"].json()["data"]
    assert {"reason": "held_by_human", "epoch": taken["epoch"], "holder": taken["holder"], "state": "human"}.items() <= told.items()
    assert sandbox.request("GET", "/v1/browser/screenshot").headers["x-control-epoch"] == str(taken["epoch"])
    assert sandbox.request("GET", "/v1/browser/page/text").status_code == 200
    assert person.ask("POST", "/v1/browser/actions", json=MOVE).status_code == 200
    person.control("release")
    assert act(sandbox).status_code == 200


def test_a_tool_is_told_who_has_control(sandbox: "Sandbox", person: Person) -> None:
    holder = person.control("take", scope="gui")["holder"]
    call = {"name": "sandbox_browser_execute_action", "arguments": {"action": MOVE}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = sandbox.request("POST", "/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})
    assert f"{holder} has control" in answer.text
    assert '"isError":true' in answer.text.replace(" ", "")
    assert sandbox.run("true").code == 0, "nobody holds the shell"


def test_an_action_waits_for_control_and_an_old_one_comes_too_late(sandbox: "Sandbox", person: Person) -> None:
    before = state_of(sandbox)["epoch"]
    person.control("take")
    answers: list[httpx.Response] = []
    waiting = threading.Thread(target=lambda: answers.append(act(sandbox, "?wait=60")))
    waiting.start()
    assert act(sandbox, "?wait=0.1").status_code == 423
    person.control("release")
    waiting.join(PATIENCE_SECONDS)
    assert [answer.status_code for answer in answers] == [200]
    stale = act(sandbox, **{"X-Control-Epoch": str(before)})
    assert (stale.status_code, stale.json()["data"]["reason"]) == (409, "stale_epoch")
    now = sandbox.request("GET", "/v1/browser/screenshot").headers["x-control-epoch"]
    assert act(sandbox, **{"X-Control-Epoch": now}).status_code == 200


def test_a_person_takes_over_in_the_middle_of_an_action(sandbox: "Sandbox", person: Person) -> None:
    assert sandbox.request("POST", "/v1/browser/actions", json={"action_type": "MOUSE_DOWN"}).status_code == 200
    answers: list[httpx.Response] = []
    wait = {"actions": [{"action_type": "MOVE_TO", "x": 77, "y": 78}, {"action_type": "WAIT", "duration": 30}]}
    batch = threading.Thread(target=lambda: answers.append(sandbox.request("POST", "/v1/browser/actions/batch", json=wait)))
    batch.start()
    until(lambda: pointer(sandbox) == (77, 78))
    person.control("take")
    batch.join(PATIENCE_SECONDS)
    [answer] = answers
    assert (answer.status_code, answer.json()["data"]["outcome"]) == (423, "unknown")


def test_a_persons_first_click_takes_control_and_the_agents_pointer_stands_still(sandbox: "Sandbox", person: Person) -> None:
    with viewing(sandbox, person.headers) as viewer:
        viewer.point(300, 310)
        viewer.pixel(0, 0)
        assert state_of(sandbox)["state"] == "agent", "a pointer that passes by takes nothing"
        viewer.point(300, 310, 1)
        viewer.point(300, 310)
        until(lambda: state_of(sandbox)["state"] == "human")
        found = state_of(sandbox)
        assert found["scope"] == ["cdp", "gui"]
        viewers = [{"name": found["holder"], "role": "admin", "you": False}]
        until(lambda: state_of(sandbox)["viewers"] == viewers)  # those of an earlier test may still be on their way out
        assert act(sandbox).status_code == 423
        until(lambda: pointer(sandbox) == (300, 310))
        assert sandbox.request("POST", "/v1/shell/exec", json={"command": "true"}).status_code == 200
    until(lambda: (state_of(sandbox)["returning"] or {}).get("reason") == "lost")


def test_a_click_in_the_stream_takes_control_too(sandbox: "Sandbox", person: Person) -> None:
    url = f"{sandbox.base_url.replace('http', 'ws')}/stream/socket"
    with connect(url, additional_headers=person.headers, proxy=None, max_size=None) as socket:
        for message in (wire.Hello(wire.VERSION, videos=False), wire.PointerInput(210, 220, 1), wire.PointerInput(210, 220, 0)):
            socket.send(wire.serialize(message))
        until(lambda: state_of(sandbox)["state"] == "human")
        until(lambda: pointer(sandbox) == (210, 220))
        assert act(sandbox).status_code == 423
        person.control("release")
        assert act(sandbox).status_code == 200
        at = pointer(sandbox)
        socket.send(wire.serialize(wire.PointerInput(300, 310, 0)))
        socket.send(wire.serialize(wire.Ping(7)))
        until(lambda: wire.pong(7) == socket.recv(timeout=PATIENCE_SECONDS))
        assert pointer(sandbox) == at, "a pointer that passes by moves nothing"


def test_the_page_of_who_drives_needs_signing_in_and_loads_from_here_alone(sandbox: "Sandbox", person: Person) -> None:
    assert sandbox.http.get(f"{sandbox.base_url}/view", headers={"Accept": "*/*"}).status_code == 401
    page = person.ask("GET", "/view")
    assert "/static/view/view.js" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert person.ask("GET", "/static/view/view.js").status_code == 200


def test_an_agent_asks_a_person_and_gets_the_outcome(sandbox: "Sandbox", person: Person) -> None:
    asked = {"kind": "choice", "reason": "Which seat?", "choices": ["aisle", "window"], "wait": 60}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "request_human", "arguments": asked}}
    answers: list[httpx.Response] = []
    asking = threading.Thread(
        target=lambda: answers.append(sandbox.request("POST", "/mcp", json=call, headers={"Accept": "application/json"}))
    )
    asking.start()
    until(lambda: person.ask("GET", "/v1/handoffs").json()["data"])
    [shown] = person.ask("GET", "/v1/handoffs").json()["data"]
    assert sandbox.request("POST", f"/v1/handoffs/{shown['id']}/answer", json={"outcome": "done"}).status_code == 403
    assert person.ask("POST", f"/v1/handoffs/{shown['id']}/claim").status_code == 200
    assert person.ask("POST", f"/v1/handoffs/{shown['id']}/answer", json={"outcome": "done", "choice": "window"}).status_code == 200
    asking.join(PATIENCE_SECONDS)
    assert '"choice":"window"' in answers[0].text.replace(" ", "").replace("\\", "")


class Devtools:
    """A client of the browser's, with the agent's key."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last = 0
        self.heard: list[dict[str, Any]] = []
        """What came that was no answer to a command."""

    def command(self, method: str, **params: object) -> dict[str, Any]:
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while (message := json.loads(self._socket.recv(timeout=PATIENCE_SECONDS))).get("id") != self._last:
            self.heard.append(message)
        reply: dict[str, Any] = message
        return reply


def test_devtools_look_and_do_not_act_while_a_person_has_the_pages(sandbox: "Sandbox", person: Person) -> None:
    page = next(target for target in sandbox.request("GET", "/cdp/json/list").json() if target["type"] == "page")
    address = page["webSocketDebuggerUrl"]
    with connect(address, additional_headers=sandbox.headers, proxy=None, max_size=None) as socket:
        client = Devtools(socket)
        assert "result" in client.command("Runtime.evaluate", expression="1")
        holder = person.control("take", scope=["gui", "cdp"])["holder"]
        refused = client.command("Runtime.evaluate", expression="document.title = 'x'")
        assert f"held_by_human: {holder} has control" in refused["error"]["message"]
        assert "result" in client.command("Page.captureScreenshot")
        waiting = {"type": "function", "expression": "document.title = 'x'", "timeout": 5}
        assert sandbox.request("POST", "/v1/browser/page/wait", json=waiting).status_code == 423
        person.control("release")
        assert "result" in client.command("Runtime.evaluate", expression="1")


def test_what_a_person_types_in_the_terminal_takes_the_shell(sandbox: "Sandbox", person: Person) -> None:
    assert sandbox.request("POST", "/v1/shell/sessions/create", json={"id": "both"}).status_code == 200
    url = f"{sandbox.base_url.replace('http', 'ws')}/v1/shell/ws?session_id=both"
    with connect(url, additional_headers=person.headers, proxy=None) as socket:
        socket.send(json.dumps({"type": "input", "data": "echo of-the-person\r"}))
        until(lambda: state_of(sandbox)["scope"] == ["shell"])
        assert sandbox.request("POST", "/v1/shell/write", json=WRITE).status_code == 423
        assert act(sandbox).status_code == 200, "the screen is still the agent's"
        shown = sandbox.request("POST", "/v1/shell/view", json={"id": "both"})
        assert shown.status_code == 200
        person.control("release")
        assert sandbox.request("POST", "/v1/shell/write", json=WRITE).status_code == 200


def test_another_person_is_refused_and_a_watcher_cannot_take_it(sandbox: "Sandbox", person: Person) -> None:
    other, guest = Person(sandbox, "view", "control"), Person(sandbox, "view")
    person.control("take")
    assert other.ask("POST", "/v1/control/take", json={}).status_code == 423
    assert other.ask("POST", "/v1/control/release").status_code == 403
    assert guest.ask("POST", "/v1/control/take", json={}).status_code == 403
    assert guest.ask("GET", "/v1/control").json()["data"]["you"]["role"] == "view"
    assert sandbox.request("POST", "/v1/control/release").status_code == 403, "a program never takes it from a person"
    given = person.control("give", to=other.ask("GET", "/v1/control").json()["data"]["you"]["name"])
    assert not given["you"]["driving"]
    other.control("release")


def test_frozen_nothing_acts(sandbox: "Sandbox", person: Person) -> None:
    person.control("freeze")
    assert act(sandbox).status_code == 423
    assert person.ask("POST", "/v1/browser/actions", json=MOVE).status_code == 423
    assert sandbox.request("POST", "/v1/control/thaw").status_code == 403
    person.control("thaw")
    assert act(sandbox).status_code == 200


def test_who_has_control_outlives_the_processes_that_know_it(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"CONTROL_LOST_SECONDS": "600"})
    person = Person(sandbox)
    asked = sandbox.request("POST", "/v1/handoffs", json={"reason": "to be remembered"}).json()["data"]["id"]
    taken = person.control("take")
    for component in ("api", "cdp"):
        sandbox.exec("pkill", "-9", "-f", f"sandbox_server {'serve' if component == 'api' else 'cdp'}")
        sandbox.wait_ready()
    assert sandbox.request("GET", f"/v1/handoffs/{asked}").json()["data"]["status"] == "open"
    found = state_of(sandbox)
    assert (found["holder"], found["epoch"]) == (taken["holder"], taken["epoch"])
    until(lambda: sandbox.request("PUT", "/cdp/json/new?about:blank").status_code == 423)
    assert act(sandbox).status_code == 423
    assert person.control("release")["epoch"] == taken["epoch"] + 1


def test_a_person_who_leaves_does_not_leave_the_agent_waiting(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"CONTROL_LOST_SECONDS": "1"})
    person = Person(sandbox)
    with viewing(sandbox, person.headers) as viewer:
        viewer.point(10, 10, 1)
        viewer.point(10, 10)
        until(lambda: state_of(sandbox)["state"] == "human")
        assert act(sandbox).status_code == 423
    assert act(sandbox, "?wait=60").status_code == 200
