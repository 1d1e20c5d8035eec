"""Whatever one token does without end, a person signs in, takes control and stops the agent, each in under a second."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, cast

import httpx
import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection

from sandbox_server.timeouts import scaled
from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox
from tests.image.crowds import Agent
from tests.image.test_person_gets_in import new_link, order, sign_in
from tests.patience import until

SECONDS = scaled(1.0)
"""What each of them may take."""
LOOPS = 8
SILENT = """
import socket
kept, place = [], socket.create_server(("127.0.0.1", 18099), backlog=4096)
while True:
    kept.append(place.accept())
"""
"""A webhook that takes every connection and answers none."""
EGRESS = """
import os, resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
ends, kept = time.monotonic() + 60, []
while time.monotonic() < ends and not os.path.exists("/tmp/over"):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("198.51.100.1", 80))
    kept.append(one)
    if len(kept) > 3000:
        kept.pop(0).close()
    elif len(kept) == 3000:
        open("/tmp/begun", "w").close()
"""
"""Opens connections to a host that is not there, as fast as it can."""

type Flood = Callable[[Agent, httpx.Client, list[int]], None]
"""Does one round, with a client of the agent's token, and appends to what was answered."""


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    found = new_launcher("flooded")
    try:
        yield found
    finally:
        found.remove()


@pytest.fixture(scope="module")
def flooded(launcher: Launcher) -> Sandbox:
    """A container that these tests flood, one after the other."""
    url = {"HANDOFF_WEBHOOK_URL": "http://127.0.0.1:18099/", "HANDOFF_LINK_URL": "http://here.example"}
    found = launcher.start(env=url, args=["--memory=3g"])
    found.exec("sh", "-c", f"exec /opt/venv/bin/python -c '{SILENT}' >/dev/null 2>&1 &")
    found.request("POST", "/v1/bash/exec", json={"command": "mkdir -p ~/many; cd ~/many; for n in $(seq 2000); do echo > $n; done"})
    return found


@pytest.fixture(scope="module")
def agent(flooded: Sandbox) -> Agent:
    return Agent(flooded, flooded.exec("cat", "/run/sandbox/agent-key").stdout.strip())


def asks_and_withdraws(_: Agent, client: httpx.Client, done: list[int]) -> None:
    asked = client.post("/v1/handoffs", json={"reason": "r"})
    done.append(asked.status_code)
    if asked.status_code == 200:
        client.delete(f"/v1/handoffs/{asked.json()['data']['id']}")


def makes_checkpoints(_: Agent, client: httpx.Client, done: list[int]) -> None:
    made = client.post("/v1/checkpoints", json={"mode": "live"})
    done.append(made.status_code)
    if made.status_code == 200:
        client.delete(f"/v1/checkpoints/{made.json()['data']['checkpoint']['id']}")


def resumes(_: Agent, client: httpx.Client, done: list[int]) -> None:
    done.append(client.post("/v1/resume").status_code)


def guesses_tickets(agent: Agent, client: httpx.Client, done: list[int]) -> None:
    guesses = "&".join(f"ticket=tk-{number:043}" for number in range(300))
    done.append(client.get(f"/v1/x?{guesses}", headers={"Authorization": ""}).status_code)


def makes_tickets(_: Agent, client: httpx.Client, done: list[int]) -> None:
    done.append(client.post("/tickets", json={"ttl": 5}).status_code)


def asks_for_control(_: Agent, client: httpx.Client, done: list[int]) -> None:
    done.append(client.post("/v1/control/request", json={}).status_code)


def reads_no_answers(agent: Agent, client: httpx.Client, done: list[int]) -> None:
    page = client.get("/json/list").json()[0]["id"]
    asked = {"id": 1, "method": "Runtime.evaluate", "params": {"expression": "'x'.repeat(24 << 20)", "returnByValue": True}}
    with suppress(WebSocketException, OSError), ExitStack() as stack:
        for _ in range(2):
            opened = cast("ClientConnection", stack.enter_context(cast("Any", agent.socket(f"/devtools/page/{page}"))))
            opened.send(json.dumps(asked))
        time.sleep(0.2)
    done.append(0)


FLOODS: dict[str, Flood] = {
    "requests": asks_and_withdraws,
    "checkpoints": makes_checkpoints,
    "resumes": resumes,
    "guesses": guesses_tickets,
    "tickets": makes_tickets,
    "requests for control": asks_for_control,
    "DevTools": reads_no_answers,
}


@contextmanager
def flooding(agent: Agent, flood: Flood) -> Iterator[None]:
    """A flood that has begun to be answered."""
    over, done = threading.Event(), list[int]()

    def work() -> None:
        with httpx.Client(base_url=agent.sandbox.base_url, headers=agent.headers, trust_env=False, timeout=60) as client:
            while not over.is_set():
                with suppress(httpx.HTTPError):
                    flood(agent, client, done)

    threads = [threading.Thread(target=work) for _ in range(LOOPS)]
    for each in threads:
        each.start()
    try:
        until(lambda: len(done) >= 3 * LOOPS, told=lambda: done[-5:])
        yield
    finally:
        over.set()
        for each in threads:
            each.join()


def taken_by(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def expect_a_person_in_time(sandbox: Sandbox, link: str) -> None:
    """Sign in, get a ticket, take control and stop the agent."""
    people: list[dict[str, str]] = []
    took = {"sign in": taken_by(lambda: people.append(sign_in(sandbox, link)))}
    person = people[0]
    try:
        took["ticket"] = taken_by(lambda: sandbox.http.post(f"{sandbox.base_url}/tickets", headers=person, json={}).raise_for_status())
        took["take"] = taken_by(lambda: order(sandbox, person, "take", {"scope": ["gui", "cdp", "shell"]}))
        took["freeze"] = taken_by(lambda: order(sandbox, person, "freeze", {}))
    finally:
        order(sandbox, person, "thaw", {})
        order(sandbox, person, "release", {})
    assert max(took.values()) < SECONDS, took


def test_a_person_signs_in_takes_and_freezes_within_a_second_during_a_flood_of_connections(flooded: Sandbox, agent: Agent) -> None:
    link = new_link(flooded)
    agent.post("/v1/file/write", {"file": "/tmp/connects.py", "content": EGRESS}).raise_for_status()
    agent.starts("sudo prlimit --nofile=20000 python3 /tmp/connects.py")
    until(lambda: flooded.run("cat", "/tmp/begun").code == 0)
    try:
        expect_a_person_in_time(flooded, link)
    finally:
        agent.post("/v1/file/write", {"file": "/tmp/over", "content": ""}).raise_for_status()


@pytest.mark.parametrize("flood", FLOODS)
def test_a_person_signs_in_takes_and_freezes_within_a_second_during_a_flood(flooded: Sandbox, agent: Agent, flood: str) -> None:
    link = new_link(flooded)
    with flooding(agent, FLOODS[flood]):
        expect_a_person_in_time(flooded, link)
