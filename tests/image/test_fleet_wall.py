"""The fleet's wall with a real sandbox: its picture, who drives it, and what it asks, seen and answered over the fleet's API."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.image.container import until
from tests.image.test_fleet import SECONDS, Host, host

__all__ = ["host"]

OWN = {"Sec-Fetch-Site": "same-origin"}
KEPT_ALIVE = ("people", "requests")


class Person:
    """A signed-in browser."""

    def __init__(self, link: str) -> None:
        place, _, ticket = link.partition("/?ticket=")
        self.http = httpx.Client(base_url=place, headers=OWN, timeout=60, trust_env=False)
        assert self.http.get(f"/?ticket={ticket}").status_code == 303

    def ask(self, verb: str, path: str, body: Any = None) -> httpx.Response:
        """An answer."""
        return self.http.request(verb, path, json=body)

    def queue(self) -> list[dict[str, Any]]:
        """What is asked."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/queue").json()["questions"]
        return found

    def tile(self) -> dict[str, Any]:
        """The one sandbox, once it is known who drives it."""
        with self.http.stream("GET", "/v1/wall/events") as events:
            event = ""
            for line in events.iter_lines():
                name, _, value = line.partition(": ")
                event = value if name == "event" else event
                told = json.loads(value) if name == "data" and event in ("wall", "tile") else {}
                tile: dict[str, Any] = told.get("tiles", [told])[0] if told else {}
                if tile.get("driver"):
                    return tile
        raise AssertionError("the stream ended")


@pytest.fixture(scope="module")
def person(host: Host) -> Iterator[Person]:
    """A person who looks at one sandbox with a desktop."""
    assert host.up("work", "--label", "skill=german").code == 0
    with host.start("serve", "--port", "0") as service:
        try:
            until(lambda: (host.state / f"{host.fleet}.sock").exists(), SECONDS)
            made = Person(host.run("open", "--print", "--as", "ann").stdout.strip())
            yield made
            made.http.close()
        finally:
            service.send_signal(signal.SIGTERM)
            service.communicate(timeout=60)


def sandbox(host: Host, verb: str, path: str, body: Any = None, scope: str = "view") -> httpx.Response:
    """What the sandbox itself answers to a program."""
    made = json.loads(host.run("token", "work", "--scope", scope, "--json").stdout)
    return httpx.request(
        verb, f"{made['address']}{path}", headers={"Authorization": f"Bearer {made['token']}"}, json=body, timeout=60, trust_env=False
    )


def test_the_screen_is_a_small_picture_and_looking_keeps_nothing_awake(person: Person, host: Host) -> None:
    assert person.tile()["driver"] == {"state": "agent", "holder": "", "private": False}
    until(lambda: person.ask("GET", "/v1/sandboxes/work/picture").status_code == 200, SECONDS)
    first = person.ask("GET", "/v1/sandboxes/work/picture")
    assert first.content[:3] == b"\xff\xd8\xff"
    assert len(first.content) < 64 << 10
    told = sandbox(host, "GET", "/v1/idleness").json()["data"]
    assert not set(KEPT_ALIVE) & set(told["active"])
    assert sandbox(host, "GET", "/v1/control").json()["data"]["viewers"] == []


def test_an_unchanged_screen_is_not_sent_again(person: Person, host: Host) -> None:
    made = json.loads(host.run("token", "work", "--scope", "view", "--json").stdout)
    headers = {"Authorization": f"Bearer {made['token']}"}
    place = f"{made['address']}/v1/screen/picture?scale=0.25&quality=60"

    def unchanged() -> bool:
        first = httpx.get(place, headers=headers, timeout=60, trust_env=False)
        again = httpx.get(place, headers=headers | {"If-None-Match": first.headers["etag"]}, timeout=60, trust_env=False)
        return (again.status_code, again.content) == (304, b"")

    until(unchanged, SECONDS)


def test_what_an_agent_asks_is_answered_in_the_persons_name(person: Person, host: Host) -> None:
    asked = sandbox(host, "POST", "/v1/handoffs", {"kind": "confirm", "reason": "Place the order?"}).json()["data"]
    until(person.queue, SECONDS)
    [question] = person.queue()
    assert (question["name"], question["reason"], question["labels"]["skill"]) == ("work", "Place the order?", "german")
    place = f"/v1/queue/{question['id']}"
    assert person.ask("POST", f"{place}/claim").json()["mine"]
    assert person.ask("POST", f"{place}/answer", {"outcome": "done"}).status_code == 204
    ended = sandbox(host, "GET", f"/v1/handoffs/{asked['id']}").json()["data"]
    assert (ended["outcome"], ended["closed_by"].removeprefix("token:")) == ("done", "ann")
    until(lambda: not person.queue(), SECONDS)


def test_a_link_opens_the_live_page_once(person: Person) -> None:
    link = person.ask("PUT", "/v1/sandboxes/work/link").json()["link"]
    assert "/view?ticket=" in link
    headers = {"Accept": "text/html"}
    assert [httpx.get(link, headers=headers, trust_env=False).status_code for _ in range(2)] == [302, 401]
