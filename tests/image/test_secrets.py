"""A password that a person types into a real page to sign in: every byte that an agent could get is searched for it."""

import base64
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import gethostbyname, gethostname
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from tests.image.rfb import Viewer, viewing
from tests.image.sockets import connect
from tests.image.test_control import Person, state_of
from tests.image.test_private import FIELD, PASSWORD, READS, page_of
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

ENTER = 0xFF0D
PLACES = "/run /tmp /home /root /sandbox /srv /dev/shm /var/log /var/tmp /var/lib /etc"
VALUE = "document.querySelector('[name=pass]')?.value"
BANK = f"""<title>bank</title><form method=post action=/in onsubmit="console.log('signing in with ' + this.pass.value)">
<input name=user style="{FIELD};top:0"><input name=pass type=password style="{FIELD};bottom:0"><button hidden></button></form>"""


class Bank:
    """A site that people sign in at, which no program of the sandbox serves."""

    def __init__(self) -> None:
        self.told: list[str] = []
        bank = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(BANK.encode() if self.path == "/" else b"<title>in</title><p>welcome</p>")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                bank.told += parse_qs(body).get("pass", [])
                self.do_GET()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
        self.url = f"http://{gethostbyname(gethostname())}:{self._server.server_port}/"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Haul:
    """Everything that an agent could get, by where it got it."""

    def __init__(self, secret: str) -> None:
        plain = secret.encode()
        self._forms = {plain, *(base64.b64encode(bytes(before) + plain)[4:-4] for before in range(3))}
        self.found: set[str] = set()
        self.searched = 0

    def take(self, where: str, content: bytes | str) -> None:
        """Search some of it."""
        whole = content.encode() if isinstance(content, str) else content
        self.searched += len(whole)
        if any(form in whole for form in self._forms):
            self.found.add(where)


class Spy:
    """A DevTools client of the agent's that has everything told, and keeps all of it."""

    def __init__(self, haul: Haul, socket: ClientConnection) -> None:
        self._haul = haul
        self._socket = socket
        self._last = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._told = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a command and wait for the answer."""
        self._last += 1
        number = self._last
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        with self._told:
            assert self._told.wait_for(lambda: number in self._answers, 30), method
            return self._answers[number]

    def look(self) -> None:
        """Read what there is to be read."""
        self.ask("Runtime.evaluate", expression=VALUE)
        self.ask("Runtime.evaluate", expression=f"btoa({VALUE})")
        self.ask("Runtime.evaluate", expression="[...document.querySelectorAll('input')].map(each => each.value)", returnByValue=True)
        self.ask("DOM.getDocument", depth=-1, pierce=True)
        self.ask("DOMSnapshot.captureSnapshot", computedStyles=[])
        self.ask("Accessibility.getFullAXTree")
        self.ask("Page.captureSnapshot")
        self.ask("Runtime.disable")
        self.ask("Runtime.enable")

    def _listen(self) -> None:
        try:
            for message in self._socket:
                self._haul.take("DevTools", message)
                parsed = json.loads(message)
                if "id" in parsed:
                    with self._told:
                        self._answers[parsed["id"]] = parsed
                        self._told.notify_all()
        except ConnectionClosed:
            return


@pytest.fixture
def person(sandbox: "Sandbox") -> Iterator[Person]:
    """Somebody who lets go of everything at the end."""
    found = Person(sandbox)
    yield found
    found.control("release")
    until(lambda: sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"}).status_code == 200)  # a tab is closing


@contextmanager
def spying(sandbox: "Sandbox", haul: Haul) -> Iterator[Spy]:
    with connect(page_of(sandbox), additional_headers=sandbox.headers, proxy=None, max_size=None) as socket:
        yield Spy(haul, socket)


def tool(sandbox: "Sandbox", name: str, **arguments: object) -> bytes:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return sandbox.request("POST", "/mcp", json=call, headers={"Accept": "application/json, text/event-stream"}).content


def look(sandbox: "Sandbox", haul: Haul, spy: Spy) -> set[int]:
    """Read everything that an agent may ask for, whether it is answered or refused; the statuses of what shows the screen or the page."""
    statuses = set()
    for name, (verb, path, body) in READS.items():
        answer = sandbox.request(verb, path, **({"json": body} if body else {}))
        haul.take(name, answer.content)
        statuses.add(answer.status_code)
    for script in (VALUE, f"btoa({VALUE})", "document.documentElement.outerHTML"):
        haul.take("evaluate", sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": script}).content)
    haul.take("archive", sandbox.request("GET", "/v1/file/download", params={"path": "/tmp/a.har"}).content)
    for name in ("browser_get_text", "browser_get_markdown", "sandbox_screen_elements", "browser_get_clickable_elements"):
        haul.take(f"tool {name}", tool(sandbox, name))
    for path in ("/v1/recorder/events", "/v1/control", "/v1/handoffs", "/metrics", "/v1/doctor", "/v1/sandbox/observe/live"):
        haul.take(path, sandbox.request("GET", path).content)
    spy.look()
    return statuses


def search_machine(sandbox: "Sandbox", haul: Haul, secret: str) -> None:
    """Search the logs, all files and the processes: those of the sandbox's own too, though no agent can read them."""
    haul.take("logs", sandbox.logs())
    haul.take("processes", sandbox.exec("sh", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'").stdout)
    search = f'grep -rlaF -- "$(echo {base64.b64encode(secret.encode()).decode()} | base64 -d)" {PLACES} 2>/dev/null; true'
    for found in (sandbox.exec("sh", "-c", search), sandbox.run("sh", "-c", search)):
        haul.found |= {f"file {name}" for name in found.stdout.split()}


def type_into(viewer: Viewer, sandbox: "Sandbox", text: str) -> None:
    viewer.point(*PASSWORD, 1)
    viewer.point(*PASSWORD)
    until(lambda: state_of(sandbox)["private"])
    for character in text:
        viewer.key(ord(character))


def test_nothing_that_an_agent_can_get_holds_the_password_that_a_person_typed(sandbox: "Sandbox", person: Person) -> None:
    secret = f"pw{secrets.token_hex(8)}"
    haul = Haul(secret)
    with ExitStack() as stack:
        bank = stack.enter_context(Bank())
        sandbox.show(bank.url)
        spy = stack.enter_context(spying(sandbox, haul))
        viewer = stack.enter_context(viewing(sandbox, person.headers))
        type_into(viewer, sandbox, secret)
        typed = {"expression": f"{VALUE}.length"}
        until(lambda: person.ask("POST", "/v1/browser/page/evaluate", json=typed).json()["data"] == len(secret))
        assert look(sandbox, haul, spy) == {423}
        person.control("release")
        look(sandbox, haul, spy)
        person.control("private")
        viewer.key(ENTER)
        until(lambda: bank.told)
        assert look(sandbox, haul, spy) == {423}
        person.control("release")
        until(lambda: b"welcome" in sandbox.request("GET", "/v1/browser/page/text").content)
        look(sandbox, haul, spy)
    search_machine(sandbox, haul, secret)
    assert bank.told == [secret], "it was typed"
    assert haul.searched > 100_000
    assert haul.found == set()
