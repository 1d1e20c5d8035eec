"""While a person has everything, nothing that a program tries acts, by any way in; and each way goes on when the person lets go."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from sandbox_server.stream import wire
from tests.image.container import Sandbox
from tests.image.rfb import viewing
from tests.image.sockets import connect
from tests.image.test_control import Devtools, Person, state_of
from tests.image.test_vnc import pointer
from tests.patience import PATIENCE_SECONDS, until

type Write = Callable[[Sandbox], httpx.Response]

MOVE = {"action_type": "MOVE_TO", "x": 40, "y": 50}
PAGE = (
    "data:text/html,<title>-</title><input onkeydown='document.title += event.key'><script>document.querySelector('input').focus()</script>"
)
ASKING = "data:text/html,<title>-</title><body onclick='document.title = confirm(1)' style='height: 900px'>"


def post(path: str, **body: Any) -> Write:
    return lambda sandbox: sandbox.request("POST", path, json=body)


def tool(name: str, **arguments: Any) -> Write:
    """A tool; that it is refused is a status, as over HTTP."""

    def call(sandbox: Sandbox) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = sandbox.request("POST", "/mcp", json=body, headers={"Accept": "application/json"})
        refused = answer.json()["result"].get("isError") and ("has control" in answer.text or "is frozen" in answer.text)
        return httpx.Response(423 if refused else answer.status_code, text=answer.text)

    return call


WRITES: dict[str, Write] = {
    "screen": post("/v1/browser/actions", **MOVE),
    "screen, several": post("/v1/browser/actions/batch", actions=[MOVE]),
    "screen, its size": post("/v1/browser/config", resolution={"width": 1280, "height": 1024}),
    "page, going": post("/v1/browser/page/navigate", url="about:blank"),
    "page, script": post("/v1/browser/page/evaluate", expression="1"),
    "page, keys": post("/v1/browser/page/press_key", key="a"),
    "page, tab": post("/v1/browser/tabs", url="about:blank"),
    "page, cookies": post("/v1/browser/cookies", cookies=[{"name": "a", "value": "b", "url": "http://a.example"}]),
    "page, headers": post("/v1/browser/network/headers", headers={}),
    "devtools, tab": lambda sandbox: sandbox.request("PUT", "/cdp/json/new?about:blank"),
    "tool, screen": tool("sandbox_browser_execute_action", action=MOVE),
    "tool, page": tool("browser_press_key", key="a"),
    "tool, shell": tool("sandbox_execute_bash", cmd="true"),
    "tool, code": tool("sandbox_execute_code", language="python", code="1"),
    "shell": post("/v1/shell/exec", id="paths", command="true"),
    "shell, keys": post("/v1/shell/write", id="paths", input="x", press_enter=False),
    "bash": post("/v1/bash/exec", command="true"),
    "code": post("/v1/code/execute", language="python", code="1"),
    "python": post("/v1/jupyter/execute", code="1"),
    "node": post("/v1/nodejs/execute", code="1"),
    "editor, start": post("/v1/editors/jupyter/start"),
    "editor, kernel": post("/jupyter/api/kernels", name="python3"),
    "editor, kernel by its port": post("/proxy/8888/jupyter/api/kernels", name="python3"),
    "editor, terminal": post("/jupyter/api/terminals"),
    "code-server": post("/code-server/"),
}
SOCKETS = ("/jupyter/api/kernels/none/channels", "/code-server/", "/proxy/8200/")


@pytest.fixture
def person(sandbox: Sandbox) -> Iterator[Person]:
    """Somebody who lets go of everything at the end."""
    found = Person(sandbox)
    yield found
    found.control("thaw")
    found.control("release")


@pytest.fixture(scope="module")
def session(sandbox: Sandbox) -> Sandbox:
    """A sandbox with a shell session of these tests."""
    assert sandbox.request("POST", "/v1/shell/exec", json={"id": "paths", "command": "true"}).status_code == 200
    return sandbox


@pytest.mark.parametrize("verb", ["take", "freeze"])
def test_nothing_that_a_program_asks_for_acts(session: Sandbox, person: Person, verb: str) -> None:
    person.control(verb)
    at = pointer(session)
    answers = {name: write(session) for name, write in WRITES.items()}
    assert {name: answer.text for name, answer in answers.items() if answer.status_code != 423} == {}
    assert pointer(session) == at


def test_no_socket_of_an_editor_opens(session: Sandbox, person: Person) -> None:
    person.control("take")
    for path in SOCKETS:
        with (
            pytest.raises(InvalidStatus, match="423"),
            connect(f"{session.base_url.replace('http', 'ws')}{path}", additional_headers=session.headers, proxy=None),
        ):
            pass


def test_what_a_program_has_open_carries_no_input(session: Sandbox, person: Person) -> None:
    """Its viewers by VNC and by the stream, and its terminal, which were open before the person came."""
    base = session.base_url.replace("http", "ws")
    terminal = connect(f"{base}/v1/shell/ws?session_id=paths", additional_headers=session.headers, proxy=None)
    stream = connect(f"{base}/stream/socket", additional_headers=session.headers, proxy=None, max_size=None)
    with viewing(session) as viewer, terminal as typing, stream as stream_client:
        stream_client.send(wire.serialize(wire.Hello(wire.VERSION, videos=False)))
        viewer.point(200, 210)
        until(lambda: pointer(session) == (200, 210))
        person.control("take")
        viewer.point(300, 310, 1)
        viewer.key(0x61)
        viewer.pixel(0, 0)
        for message in (wire.PointerInput(320, 330, 1), wire.Ping(9)):
            stream_client.send(wire.serialize(message))
        until(lambda: wire.pong(9) == stream_client.recv(timeout=PATIENCE_SECONDS))
        typing.send(json.dumps({"type": "input", "data": "touch /tmp/of-the-program\r"}))
        typing.send(json.dumps({"type": "the end"}))
        until(lambda: "the end" in str(typing.recv(timeout=PATIENCE_SECONDS)))
        assert pointer(session) == (200, 210)
        assert state_of(session)["state"] == "human"
        person.control("release")
    assert session.run("test", "-e", "/tmp/of-the-program").code == 1


def test_who_takes_it_in_the_middle_is_alone_and_what_was_held_is_released_once(session: Sandbox, person: Person) -> None:
    presses = "data:text/html,<title>-</title><script>for (const t of ['mousedown', 'mouseup', 'keydown', 'keyup'])"
    presses += "addEventListener(t, (e) => { document.title += ' ' + t; })</script><body style='height: 900px'>"
    session.show(presses)
    drag = {
        "actions": [{"action_type": "MOVE_TO", "x": 400, "y": 500}, {"action_type": "MOUSE_DOWN"}, {"action_type": "WAIT", "duration": 30}]
    }
    answers: list[httpx.Response] = []
    agent = threading.Thread(target=lambda: answers.append(session.request("POST", "/v1/browser/actions/batch", json=drag)))
    agent.start()
    until(lambda: title(session) == "- mousedown")
    person.control("take")
    agent.join(PATIENCE_SECONDS)
    assert (answers[0].status_code, answers[0].json()["data"]["outcome"]) == (423, "unknown")
    until(lambda: title(session) == "- mousedown mouseup")
    person.control("release")
    session.request("POST", "/v1/browser/actions", json=MOVE).raise_for_status()
    assert title(session) == "- mousedown mouseup"


def title(sandbox: Sandbox) -> str:
    found: str = sandbox.request("GET", "/v1/browser/tabs").json()["data"][0]["title"]
    return found


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Input.dispatchKeyEvent", {"type": "keyDown", "key": "a", "text": "a"}),
        ("Input.insertText", {"text": "a"}),
        ("Page.navigate", {"url": "about:blank"}),
        ("Runtime.evaluate", {"expression": "document.title = 'x'"}),
        ("DOM.setOuterHTML", {"nodeId": 1, "outerHTML": ""}),
        ("Page.handleJavaScriptDialog", {"accept": True}),
        ("Target.createTarget", {"url": "about:blank"}),
        ("Browser.close", {}),
    ],
)
def test_a_devtools_method_that_acts_is_refused(session: Sandbox, person: Person, method: str, params: dict[str, Any]) -> None:
    session.show(PAGE)
    until(lambda: title(session) == "-")
    page = next(target for target in session.request("GET", "/cdp/json/list").json() if target["type"] == "page")
    with connect(page["webSocketDebuggerUrl"], additional_headers=session.headers, proxy=None, max_size=None) as socket:
        client = Devtools(socket)
        person.control("take")
        assert "held_by_human" in client.command(method, **params)["error"]["message"]
        assert title(session) == "-"


def test_a_devtools_method_that_nobody_has_judged_is_refused_whoever_drives(session: Sandbox, person: Person) -> None:
    page = next(target for target in session.request("GET", "/cdp/json/list").json() if target["type"] == "page")
    with connect(page["webSocketDebuggerUrl"], additional_headers=session.headers, proxy=None, max_size=None) as socket:
        client = Devtools(socket)
        assert "wasn't found" in client.command("Domain.ofTheFuture")["error"]["message"]
        person.control("take")
        assert "wasn't found" in client.command("Domain.ofTheFuture")["error"]["message"]


def test_a_dialog_that_a_person_has_before_them_is_answered_by_nobody_else(session: Sandbox, person: Person) -> None:
    session.show(ASKING)
    person.control("take")
    click = {"action_type": "CLICK", "x": 400, "y": 500}
    assert person.ask("POST", "/v1/browser/actions", json=click).status_code == 200
    until(lambda: session.request("GET", "/v1/browser/page/text").status_code == 409)
    reads = [session.request("GET", f"/v1/browser/page/{what}") for what in ("text", "html", "elements")]
    assert {(read.status_code, read.json()["data"]["reason"]) for read in reads} == {(409, "dialog")}
    assert session.request("GET", "/v1/browser/screenshot").status_code == 200
    person.control("release")
    session.request("POST", "/v1/browser/page/evaluate", json={"expression": "1", "dialog": "accept"}).raise_for_status()
    until(lambda: title(session) == "true")
