"""What others learn of a person's private time by its connections and questions, from outside, then and afterwards: no host."""

import json
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox, engine
from tests.image.egress_peers import Peer
from tests.image.test_control import Person
from tests.patience import PATIENCE_SECONDS, until

HERS = ("bank.example", "asked.example", "evil.example")
"""What she visits: a host that is allowed, one that is asked about, and one that is denied."""
ASKED = "openly-asked.example"
"""What the browser is asked about when nobody is private: whoever tells nothing of hers tells of this."""
NAVIGATE = "/v1/browser/page/navigate"


class Hook(BaseHTTPRequestHandler):
    """Takes what people are told of."""

    def do_POST(self) -> None:
        heard: list[str] = self.server.heard  # type: ignore[attr-defined]
        heard.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


class Follower:
    """Reads the live events of somebody, to the end of the container."""

    def __init__(self, sandbox: Sandbox, headers: dict[str, str]) -> None:
        self.heard = ""
        self.begun = threading.Event()
        threading.Thread(target=self._read, args=(f"{sandbox.base_url}/v1/events", headers), daemon=True).start()
        assert self.begun.wait(PATIENCE_SECONDS)

    def _read(self, url: str, headers: dict[str, str]) -> None:
        try:
            with httpx.stream("GET", url, headers=headers, timeout=None, trust_env=False) as answer:
                for chunk in answer.iter_text():
                    self.heard += chunk
                    self.begun.set()
        except httpx.HTTPError:
            return


class Told:
    """What each surface told: while she was private, and at the end, when the browser had been elsewhere, too."""

    def __init__(self) -> None:
        self.begun: dict[str, str] = {}
        """The counts with which it began."""
        self.during: dict[str, str] = {}
        self.after: dict[str, str] = {}
        self.hers: dict[str, str] = {}
        """What she was shown herself."""
        self.sockets = ""
        """What root in the box saw while her page was loading."""


GETS = {
    "connections": "/v1/egress/connections?limit=2000",
    "questions": "/v1/handoffs?status=all",
    "policy and temporary rules": "/v1/egress/policy",
    "what was learned": "/v1/egress/proposal",
    "blocked": "/v1/egress/blocked?since=0",
    "status": "/v1/egress/status",
    "recorder": "/v1/recorder/events?limit=1000",
    "metrics": "/metrics",
    "receipts": "/v1/control",
    "home": "/v1/sandbox",
    "activity": "/v1/doctor",
}


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    """A person browses in private mode; then the browser goes elsewhere in the open."""
    launcher, hook = new_launcher("privateconnections"), list[str]()
    with ExitStack() as stack:
        stack.callback(launcher.remove)
        peer = Peer(launcher, "peer", "bank.example", "asked.example", ASKED)
        server = stack.enter_context(ThreadingHTTPServer(("0.0.0.0", 0), Hook))
        server.heard = hook  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(server.shutdown)
        rules = [
            {"name": "bank", "action": "allow", "hosts": ["bank.example"]},
            {"name": "asks", "action": "ask", "hosts": ["asked.example", ASKED]},
            {"name": "peers", "action": "allow", "cidrs": [f"{peer.address}/32"]},
        ]
        hooked = {"HANDOFF_WEBHOOK_URL": f"http://{os.environ['TANDEM_RUN']}:{server.server_port}/hook", "APPROVAL_SECONDS": "60"}
        sandbox = launcher.start(env={**hooked, "EGRESS_POLICY": json.dumps({"default": "deny", "rules": rules})})
        yield browse(sandbox, hook)


SOCKETS = "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 /proc/net/raw; ss -tanu"
"""What root in the box sees of the network that it shares with the desktop."""
SYNTHETIC = re.compile(r"198\.1[89]\.|1[23]C6:")
"""How addresses of names look there: in decimal, and in the kernel's hexadecimal."""
LOOKS_UP = """new Promise(done => {
  const servers = [{urls: ["stun:stun.example:3478", "turn:turn.example:3478?transport=tcp"], username: "a", credential: "b"}];
  const peer = new RTCPeerConnection({iceServers: servers});
  for (const rel of ["dns-prefetch", "preconnect"])
    document.head.append(Object.assign(document.createElement("link"), {rel, href: "http://ahead.example/"}));
  peer.createDataChannel("x");
  peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done("complete");
  peer.createOffer().then(offer => peer.setLocalDescription(offer));
})"""
"""What a page may have looked up without connecting."""


def browse(sandbox: Sandbox, hook: list[str]) -> Told:
    """What is told of both times."""
    told, her, other = Told(), Person(sandbox), Person(sandbox)
    viewer, agent = Person(sandbox, "view"), sandbox.for_agent()
    callers = {"the owner": sandbox.headers, "the agent": agent.headers, "a person": other.headers, "a viewer": viewer.headers}
    followers = {name: Follower(sandbox, headers) for name, headers in callers.items()}

    def look() -> dict[str, str]:
        found = {f"{surface}, {name}": get(sandbox, path, headers) for surface, path in GETS.items() for name, headers in callers.items()}
        found |= {f"events, {name}": follower.heard for name, follower in followers.items()}
        ran = [agent.request("POST", "/v1/bash/exec", json={"command": "true"}).text, agent.request("POST", NAVIGATE, json={}).text]
        logs = engine("logs", sandbox.name)
        return found | {"hints": "".join(ran), "webhook": "".join(hook), "log": logs.stdout + logs.stderr}

    her.control("private")
    told.begun = until(lambda: counts_of(sandbox), told=lambda: get(sandbox, GETS["status"], sandbox.headers))
    assert her.ask("POST", NAVIGATE, json={"url": "http://bank.example/"}).status_code == 200
    assert her.ask("POST", "/v1/browser/page/evaluate", json={"expression": LOOKS_UP}).json()["data"] == "complete"
    her.ask("POST", NAVIGATE, json={"url": "http://evil.example/"})
    with ThreadPoolExecutor() as pool:
        going = pool.submit(her.ask, "POST", NAVIGATE, json={"url": "http://asked.example/"}, timeout=PATIENCE_SECONDS)
        question = until(lambda: questions(her), told=lambda: her.ask("GET", "/v1/handoffs").text)[0]
        told.sockets = sandbox.run("bash", "-c", SOCKETS, user="root").stdout
        told.during, told.hers = look(), {"question": json.dumps(question)}
        assert other.ask("POST", f"/v1/handoffs/{question['id']}/answer", json={"outcome": "deny"}).status_code == 404
        assert her.ask("POST", f"/v1/handoffs/{question['id']}/answer", json={"outcome": "once"}).status_code == 200
        assert going.result().status_code == 200
    told.hers |= {
        "page": her.ask("GET", "/v1/browser/page/text").text,
        **{name: get(sandbox, path, her.headers) for name, path in GETS.items()},
    }
    assert her.ask("POST", NAVIGATE, json={"url": "about:blank"}).status_code == 200
    her.control("public")
    her.control("release")
    visit_openly(sandbox, other)
    until(lambda: ASKED in followers["the owner"].heard and ASKED in "".join(hook), told=lambda: followers["the owner"].heard[-2000:])
    told.after = look()
    return told


def counts_of(sandbox: Sandbox) -> dict[str, str]:
    """The status and the metrics, once the server has heard of all that the egress process has counted."""
    found = {name: get(sandbox, GETS[name], sandbox.headers) for name in ("status", "metrics")}
    lines = [line for line in found["metrics"].splitlines() if line.startswith("tandem_egress_connections_total{")]
    events = json.loads(found["status"])["data"]["events"]
    counted = events.get("open", 0) + events.get("refused", 0)
    return found if sum(int(line.rpartition(" ")[2]) for line in lines) == counted else {}


def visit_openly(sandbox: Sandbox, person: Person) -> None:
    """Have the agent visit what a person is asked about."""
    with ThreadPoolExecutor() as pool:
        going = pool.submit(sandbox.request, "POST", NAVIGATE, json={"url": f"http://{ASKED}/"}, timeout=PATIENCE_SECONDS)
        question = until(lambda: questions(person), told=lambda: person.ask("GET", "/v1/handoffs").text)[0]
        person.ask("POST", f"/v1/handoffs/{question['id']}/answer", json={"outcome": "once"})
        assert going.result().status_code == 200
    until(lambda: ASKED in get(sandbox, GETS["recorder"] + "&kind=egress", sandbox.headers))


def questions(person: Person) -> list[dict[str, Any]]:
    """The approvals that a person is asked for."""
    return [each for each in person.ask("GET", "/v1/handoffs").json()["data"] if each["kind"] == "approve"]


def get(sandbox: Sandbox, path: str, headers: dict[str, str]) -> str:
    """The text of an answer."""
    return sandbox.http.get(f"{sandbox.base_url}{path}", headers=headers).text


SHOWN = {"connections, the owner", "questions, the owner", "events, the owner", "events, a person", "webhook", "recorder, the owner"}
"""Surfaces that tell of what is not private: nobody has looked at nothing."""
RULES = {"policy and temporary rules", "what was learned"}
"""Those that have the rules of the policy, which name hosts themselves."""


def test_no_surface_tells_anybody_else_where_a_person_was_in_private(told: Told) -> None:
    for time in (told.during, told.after):
        assert len(time) > len(GETS)
        for surface, said in time.items():
            names = [name for name in HERS if name in said.replace(ASKED, "")]
            assert not names or surface.partition(",")[0] in RULES, (surface, names, said[-3000:])
    assert {surface for surface in SHOWN if ASKED not in told.after[surface]} == set()


def test_no_rule_and_nothing_learned_comes_of_it(told: Told) -> None:
    policies = [json.loads(told.during[f"policy and temporary rules, {who}"]) for who in ("the owner", "a person")]
    assert [policy["data"]["grants"] for policy in policies] == [[], []]
    after = json.loads(told.after["policy and temporary rules, the owner"])["data"]["grants"]
    assert [grant["host"] for grant in after] == [ASKED]
    assert json.loads(told.after["what was learned, the owner"])["data"]["destinations"] == []


def test_counts_stay_as_if_nothing_had_happened(told: Told) -> None:
    begun, status = (json.loads(said)["data"] for said in (told.begun["status"], told.during["status, a viewer"]))
    counts = ("open", "asking", "events")
    assert {name: status[name] for name in counts} == {name: begun[name] for name in counts}
    before, during = (
        [line for line in said.splitlines() if line.startswith(("tandem_egress_connections_total{", "tandem_egress_bytes"))]
        for said in (told.begun["metrics"], told.during["metrics, the owner"])
    )
    assert during == before


def test_the_person_sees_her_own_and_answers_it(told: Told) -> None:
    assert "served by peer" in told.hers["page"]
    assert json.loads(told.hers["question"])["approval"]["answers"] == ["once", "deny"]
    assert '"host": "asked.example"' in told.hers["question"]
    assert all(name in told.hers["connections"] for name in HERS)


def test_no_socket_shows_the_address_of_a_name(told: Told) -> None:
    assert "127.0.0.1:15080" in told.sockets, "her page was loading"
    assert not SYNTHETIC.search(told.sockets), told.sockets


def test_no_name_has_got_an_address_by_it(told: Told) -> None:
    begun, status = (json.loads(said)["data"]["names"] for said in (told.begun["status"], told.during["status, a viewer"]))
    assert status == begun
