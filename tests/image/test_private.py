"""Private mode from outside: while a person types a password nobody else sees anything, and nothing of it is kept."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection

from sandbox_server.stream import wire
from tests.image.rfb import viewing
from tests.image.sockets import connect
from tests.image.test_control import Devtools, Person, state_of
from tests.image.test_recording import download_recording, duration
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

FIELD = "position:fixed;left:0;width:100vw;height:45vh;font-size:60px"
PAGE = f"""<title>bank</title><form method=post action=/in>
<input name=user style="{FIELD};top:0"><input name=pass type=password style="{FIELD};bottom:0"></form>"""
USER, PASSWORD = (640, 300), (640, 850)
"""Where the fields are on the screen."""
SERVER = f"""
from http.server import BaseHTTPRequestHandler, HTTPServer
class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Type", "text/html"); self.end_headers(); self.wfile.write({PAGE.encode()!r})
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"])); self.do_GET()
    def log_message(self, *_): pass
HTTPServer(("127.0.0.1", 8123), Site).serve_forever()
"""


@pytest.fixture
def person(sandbox: "Sandbox") -> Iterator[Person]:
    """Somebody who lets go of everything at the end."""
    found = Person(sandbox)
    yield found
    found.control("thaw")
    found.control("release")
    until(lambda: sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"}).status_code == 200)  # a tab is closing


@pytest.fixture(scope="module")
def bank(sandbox: "Sandbox") -> str:
    """A page to sign in at, of a server in the box."""
    sandbox.request("POST", "/v1/file/write", json={"file": "/home/gem/bank.py", "content": SERVER})
    sandbox.request("POST", "/v1/bash/exec", json={"command": "python3 /home/gem/bank.py", "async_mode": True})
    url = "http://localhost:8123/"
    until(lambda: sandbox.run("curl", "-sf", url).code == 0)
    return url


def page_of(sandbox: "Sandbox") -> str:
    """The address of the page in front, for DevTools."""
    return str(next(each for each in sandbox.request("GET", "/cdp/json/list").json() if each["type"] == "page")["webSocketDebuggerUrl"])


@contextmanager
def devtools(sandbox: "Sandbox", address: str) -> Iterator[tuple[Devtools, ClientConnection]]:
    with connect(address, additional_headers=sandbox.headers, proxy=None, max_size=None) as socket:
        yield Devtools(socket), socket


def is_private(sandbox: "Sandbox") -> bool:
    return state_of(sandbox)["private"] is not None


def refused(answer: httpx.Response) -> bool:
    return answer.status_code == 423 and answer.json()["data"]["reason"] == "private"


READS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "screenshot": ("GET", "/v1/browser/screenshot", {}),
    "page picture": ("GET", "/v1/browser/page/screenshot", {}),
    "text": ("GET", "/v1/browser/page/text", {}),
    "html": ("GET", "/v1/browser/page/html", {}),
    "markdown": ("GET", "/v1/browser/page/markdown", {}),
    "elements": ("GET", "/v1/browser/page/elements", {}),
    "screen elements": ("GET", "/v1/screen/elements", {}),
    "tabs": ("GET", "/v1/browser/tabs", {}),
    "cookies": ("GET", "/v1/browser/cookies", {}),
    "requests": ("GET", "/v1/browser/network/requests", {}),
    "console": ("GET", "/v1/browser/page/console", {}),
    "archive": ("POST", "/v1/browser/network/export_har", {"save_path": "/tmp/a.har"}),
    "find": ("POST", "/v1/browser/page/find_text", {"keyword": "bank"}),
    "downloads": ("GET", "/v1/browser/downloads", {}),
    "DevTools targets": ("GET", "/cdp/json/list", {}),
}


def test_in_private_nobody_else_sees_anything_and_is_told_why(sandbox: "Sandbox", person: Person, bank: str) -> None:
    assert sandbox.request("POST", "/v1/browser/page/navigate", json={"url": bank}).status_code == 200
    state = person.control("private")
    assert (state["state"], state["private"], state["you"]["sees"]) == ("human", state["holder"], True)
    answers = {name: sandbox.request(verb, path, **({"json": body} if body else {})) for name, (verb, path, body) in READS.items()}
    assert {name: refused(answer) for name, answer in answers.items()} == dict.fromkeys(READS, True)
    assert person.ask("GET", "/v1/browser/screenshot").status_code == 200, "the holder's own goes on"
    other = Person(sandbox, "view", "browser")
    assert refused(other.ask("GET", "/v1/browser/screenshot"))
    with pytest.raises(InvalidStatus, match="423"), viewing(sandbox, other.headers):
        pass
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "browser_screenshot", "arguments": {}}}
    told = sandbox.request("POST", "/mcp", json=call, headers={"Accept": "application/json, text/event-stream"}).text
    assert '"isError":true' in told.replace(" ", "")
    assert "private" in told
    assert sandbox.request("POST", "/v1/control/public").status_code == 403, "a program does not end it"
    assert person.control("public")["private"] is None
    assert sandbox.request("GET", "/v1/browser/screenshot").status_code == 200


def test_viewers_are_cut_off_and_shown_a_placeholder(sandbox: "Sandbox", person: Person) -> None:
    watcher = Person(sandbox, "view")
    stream = f"{sandbox.base_url.replace('http', 'ws')}/stream/socket"
    with (
        connect(stream, additional_headers=watcher.headers, proxy=None, max_size=None) as socket,
        viewing(sandbox, watcher.headers) as viewer,
    ):
        socket.send(wire.serialize(wire.Hello(wire.VERSION, videos=False)))
        until(lambda: socket.recv(timeout=PATIENCE_SECONDS)[0] == wire.HELLO)
        person.control("private")
        _until_rights(socket, wire.HIDDEN)
        with pytest.raises(Exception, match="private"):
            until(lambda: viewer.pixel(0, 0) is None)
        assert person.ask("POST", "/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 9, "y": 9}).status_code == 200
        person.control("public")
        assert set(_until_rights(socket, 0)) <= {wire.DESKTOP}, "meanwhile it was shown nothing"


def _until_rights(socket: ClientConnection, rights: int) -> list[int]:
    """The kinds of what comes before the viewer is told its rights."""
    kinds = []
    while (message := socket.recv(timeout=PATIENCE_SECONDS))[:2] != bytes([wire.RIGHTS, rights]):
        assert isinstance(message, bytes)
        kinds.append(message[0])
    return kinds


def test_a_client_of_devtools_is_told_nothing_and_finds_its_way_again(sandbox: "Sandbox", person: Person, bank: str) -> None:
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": bank})
    address = page_of(sandbox)
    with devtools(sandbox, address) as (client, socket), devtools(sandbox, address) as (_, waiting):
        for method in ("Page.enable", "Network.enable", "Runtime.enable"):
            assert "result" in client.command(method)
        waiting.send(
            json.dumps({"id": 99, "method": "Runtime.evaluate", "params": {"expression": "new Promise(() => 0)", "awaitPromise": True}})
        )
        person.control("private")
        assert "private" in _answer(waiting, 99)["error"]["message"]
        looks: dict[str, dict[str, Any]] = {
            "DOM.getDocument": {},
            "Page.captureScreenshot": {},
            "Accessibility.getFullAXTree": {},
            "Never.heardOf": {},
        }
        looks |= {"Runtime.evaluate": {"expression": "1", "throwOnSideEffect": True}}
        assert all("private" in client.command(method, **more)["error"]["message"] for method, more in looks.items())
        assert client.command("Page.getFrameTree")["result"]["frameTree"]["frame"]["url"] == "about:blank"
        with pytest.raises(InvalidStatus, match="423"), devtools(sandbox, address):
            pass
        person.ask("POST", "/v1/browser/page/navigate", json={"url": f"{bank}?token=secret"})
        assert "result" in client.command("Browser.getVersion"), "what came meanwhile has arrived"
        person.control("release")
        found = _event(socket, "Page.navigatedWithinDocument")
        assert found["url"] == f"{bank}?token=secret"
        assert "result" in client.command("Runtime.evaluate", expression="document.title")


def _answer(socket: ClientConnection, number: int) -> dict[str, Any]:
    while (message := json.loads(socket.recv(timeout=PATIENCE_SECONDS))).get("id") != number:
        pass
    answer: dict[str, Any] = message
    return answer


def _event(socket: ClientConnection, method: str) -> dict[str, Any]:
    while (message := json.loads(socket.recv(timeout=PATIENCE_SECONDS))).get("method") != method:
        pass
    params: dict[str, Any] = message["params"]
    return params


def test_private_mode_begins_in_a_password_field_and_ends_with_control(sandbox: "Sandbox", person: Person, bank: str) -> None:
    sandbox.show(bank)
    sandbox.request("POST", "/v1/browser/page/click", json={"selector": "[name=pass]"})
    assert not is_private(sandbox), "the agent enters it"
    sandbox.request("POST", "/v1/browser/page/click", json={"selector": "[name=user]"})
    with viewing(sandbox, person.headers) as viewer:
        viewer.point(*USER, 1)
        viewer.point(*USER)
        until(lambda: state_of(sandbox)["state"] == "human")
        assert not is_private(sandbox)
        viewer.point(*PASSWORD, 1)
        viewer.point(*PASSWORD)
        until(lambda: is_private(sandbox))
        person.control("public")
        person.control("release")
        assert not is_private(sandbox)
        viewer.point(*PASSWORD, 1)
        viewer.point(*PASSWORD)
        until(lambda: is_private(sandbox))
    person.control("release")


def test_who_takes_on_a_login_is_private_from_the_start(sandbox: "Sandbox", person: Person) -> None:
    asked = sandbox.request("POST", "/v1/handoffs", json={"kind": "login", "reason": "Sign in."}).json()["data"]
    assert person.ask("POST", f"/v1/handoffs/{asked['id']}/claim").status_code == 200
    assert not is_private(sandbox), "who has not taken control does nothing yet"
    assert person.control("take")["private"] is not None
    assert person.ask("POST", f"/v1/handoffs/{asked['id']}/answer", json={"outcome": "done"}).status_code == 200
    person.control("release")
    assert not is_private(sandbox)


def test_a_film_shows_a_placeholder(sandbox: "Sandbox", person: Person, bank: str, tmp_path: Path) -> None:
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": bank})
    person.control("private")
    sandbox.request("POST", "/v1/display/record", json={"action": "start", "save_path": "/home/gem/private.mp4"})
    until(lambda: duration(sandbox) > 1)
    sandbox.request("POST", "/v1/display/record", json={"action": "stop"})
    person.control("release")
    with av.open(str(download_recording(sandbox, "/home/gem/private.mp4", tmp_path))) as video:
        pictures = [frame.to_image() for frame in video.decode(video=0)]  # type: ignore[no-untyped-call] # the package leaves it out
    colours = {picture.getpixel((640, 300)) for picture in pictures}
    assert colours, "there is a recording"
    assert all(sum(colour) < 3 * 70 for colour in colours), "the page is white"


GREEN = bytes((0, 200, 0))
FRESH = f"""<title>fresh</title><body style="background:#00c800"><input id=p type=password autofocus style="{FIELD};top:0"><script>
onload = async () => {{
  const workers = (await navigator.serviceWorker.getRegistrations()).length;
  fetch('/said?' + [location.pathname.slice(1), document.cookie || 'nothing', workers, localStorage.length]);
}};
p.onclick = () => fetch('/said?clicked,' + document.hasFocus());
p.oninput = () => fetch('/typed?' + p.value.length);
</script>"""
FRESH_SERVER = f"""
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
SEEN = []
class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        body = repr(SEEN).encode() if self.path == "/seen" else b"//" if self.path == "/worker.js" else {FRESH.encode()!r}
        if self.path == "/agents": body = b"<title>agents</title>"
        if self.path.startswith(("/said", "/typed")): SEEN.append(self.path)
        self.send_response(200); self.send_header("Content-Type", "text/javascript" if self.path == "/worker.js" else "text/html")
        self.send_header("Content-Length", str(len(body)))
        if self.path == "/agents": self.send_header("Set-Cookie", "who=agent; Max-Age=3600")
        self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
ThreadingHTTPServer(("127.0.0.1", 8125), Site).serve_forever()
"""


@pytest.mark.slow
def test_in_a_fresh_window_there_is_nothing_of_the_agents_and_nobody_else_sees_it(sandbox: "Sandbox", person: Person) -> None:
    sandbox.request("POST", "/v1/file/write", json={"file": "/home/gem/fresh.py", "content": FRESH_SERVER})
    sandbox.request("POST", "/v1/bash/exec", json={"command": "python3 /home/gem/fresh.py", "async_mode": True})
    url = "http://localhost:8125/"

    def seen() -> str:
        return sandbox.run("curl", "-sf", f"{url}seen").stdout

    until(lambda: sandbox.run("curl", "-sf", f"{url}seen").code == 0)
    assert sandbox.request("POST", "/v1/browser/page/navigate", json={"url": f"{url}agents"}).status_code == 200
    with devtools(sandbox, page_of(sandbox)) as (client, _):
        worker = (
            "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => (localStorage.who = 1))"
        )
        assert client.command("Runtime.evaluate", expression=worker, awaitPromise=True)["result"]["result"]["value"] == 1
        assert client.command("Target.setDiscoverTargets", discover=True)
        listed = sandbox.request("GET", "/cdp/json/list").json()
        state = person.control("private", fresh=True, url=f"{url}fresh")
        assert (state["fresh"], state["private"]) == (True, state["holder"])
        until(lambda: "/said?fresh,nothing,0,0" in seen(), told=seen)
        tabs = person.ask("GET", "/v1/browser/tabs").text
        assert "/fresh" not in tabs
        assert {each["id"] for each in person.ask("GET", "/cdp/json/list").json()} <= {each["id"] for each in listed}
        with viewing(sandbox, person.headers) as viewer:
            until(lambda: viewer.pixel(640, 700)[:3] == GREEN)

            def is_clicked() -> bool:  # a window that has just opened may get clicks and keys late
                viewer.point(*USER, 1)
                viewer.point(*USER)
                return "/said?clicked,true" in seen()

            until(is_clicked, told=seen)
            for character in "kestrel9x":
                viewer.key(ord(character))
            until(lambda: "/typed?9" in seen(), told=seen)
        person.control("public")
        with viewing(sandbox, sandbox.headers) as program:
            assert program.pixel(640, 700)[:3] != GREEN, "it was closed before"
        person.control("release")
        typed = client.command("Runtime.evaluate", expression="['kestr', 'el9x'].join('')")
        assert typed["result"]["result"]["value"] == "(hidden)"
        heard = json.dumps(client.heard)
        assert ("/fresh" in heard, "kestrel9x" in heard) == (False, False)
    assert [each["id"] for each in sandbox.request("GET", "/cdp/json/list").json()] == [each["id"] for each in listed]
