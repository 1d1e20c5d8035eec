"""The flight recorder, from outside."""

import io
import zipfile
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.image.container import KEY
from tests.image.test_control import Person
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PASSWORD = "correct-horse-battery"


def events(sandbox: "Sandbox", **query: str | int) -> list[dict[str, Any]]:
    answer = sandbox.request("GET", "/v1/recorder/events", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]["events"]
    return found


def last(sandbox: "Sandbox") -> int:
    return int(events(sandbox, limit=1)[-1]["n"])


def test_what_an_agent_does_is_written_down_in_a_chain_and_no_secret_is(sandbox: "Sandbox") -> None:
    before = last(sandbox)
    sandbox.request(
        "POST",
        "/v1/shell/exec",
        json={"command": f"echo --password {PASSWORD} {KEY}"},
        headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"},
    )
    sandbox.request("POST", "/v1/file/write", json={"file": "/home/gem/recorded.txt", "content": PASSWORD})
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": f"http://127.0.0.1:1/?key={PASSWORD}", "timeout": 5})
    sandbox.request("POST", "/v1/browser/actions", json={"action_type": "TYPING", "text": PASSWORD})

    def recorded() -> dict[str, dict[str, Any]]:
        return {event["operation"]: event for event in events(sandbox, after=before, limit=1000) if "operation" in event}

    until(lambda: {"shell.exec_command", "file.write_file", "browser-page.navigate", "browser.execute_action"} <= recorded().keys())
    found = recorded()
    assert found["shell.exec_command"]["kind"] == "command"
    assert found["shell.exec_command"]["request"]["command"] == "echo --password *** ***"
    assert found["shell.exec_command"]["trace"] == TRACE
    assert (found["file.write_file"]["kind"], found["file.write_file"]["request"]["file"]) == ("file", "/home/gem/recorded.txt")
    assert found["browser-page.navigate"]["request"]["url"] == "http://127.0.0.1:1/?key=…"
    assert found["browser.execute_action"]["request"]["text_length"] == len(PASSWORD)
    assert all(event["actor"]["type"] == "agent" for event in found.values())
    kept = sandbox.exec("sh", "-c", "cat /run/sandbox-recorder/events/*").stdout
    assert "recorded.txt" in kept
    assert PASSWORD not in kept
    assert KEY not in kept
    verified = sandbox.request("GET", "/v1/recorder/verify").json()["data"]
    assert verified["ok"], verified


def test_what_a_person_does_is_told_apart_and_their_keys_are_counted(sandbox: "Sandbox") -> None:
    before = last(sandbox)
    person = Person(sandbox)
    holder = person.control("take")["holder"]
    person.control("release")

    def lease() -> list[tuple[str, str, str]]:
        found = events(sandbox, after=before, kind="control")
        return [(event["event"], event["actor"]["type"], event["actor"]["name"]) for event in found]

    until(lambda: ("released", "person", holder) in lease())
    assert ("taken", "person", holder) in lease()


def test_who_follows_hears_of_what_happens(sandbox: "Sandbox") -> None:
    before = last(sandbox)
    headers = sandbox.headers | {"Accept": "text/event-stream", "Last-Event-ID": str(before)}
    with sandbox.http.stream("GET", f"{sandbox.base_url}/v1/recorder/events?kind=command", headers=headers) as response:
        sandbox.request("POST", "/v1/bash/exec", json={"command": "echo heard"})
        assert any('"echo heard"' in line for line in response.iter_lines() if line.startswith("data: "))


@pytest.mark.parametrize("path", ["/run/sandbox-recorder", "/run/sandbox-recorder/events"])
@pytest.mark.parametrize("user", ["gem", "root"])
def test_nothing_of_the_agents_reaches_the_record(sandbox: "Sandbox", path: str, user: str) -> None:
    assert sandbox.run("ls", path, user=user).code != 0
    assert sandbox.run("touch", f"{path}/forged", user=user).code != 0
    assert sandbox.exec("ls", f"{path}/forged").code != 0


def test_only_an_admin_reads_it(sandbox: "Sandbox") -> None:
    watcher = Person(sandbox, "view", "control")
    answer: httpx.Response = watcher.ask("GET", "/v1/recorder/events")
    assert answer.status_code == 403
    assert watcher.ask("GET", "/v1/recorder/verify").status_code == 403


FORM = "data:text/html,<label>Street <input id=street></label><input type=password id=secret>"


def turn(sandbox: "Sandbox") -> httpx.Response:
    """A person does what an agent asks; what the agent is told."""
    asked = sandbox.request("POST", "/v1/handoffs", json={"kind": "free", "reason": "sign in"}).json()["data"]["id"]
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"})
    person = Person(sandbox)
    person.ask("POST", f"/v1/handoffs/{asked}/claim", json={})
    person.control("take")
    person.ask("POST", "/v1/browser/page/navigate", json={"url": FORM})
    for field in ("#street", "#secret", "#street"):
        person.ask("POST", "/v1/browser/page/click", json={"selector": field})
        person.ask("POST", "/v1/browser/page/type", json={"text": PASSWORD})
    person.ask("POST", "/v1/file/write", json={"file": "/home/gem/by-a-person.txt", "content": PASSWORD})
    person.control("release", note="signed in")
    person.ask("POST", f"/v1/handoffs/{asked}/answer", json={"outcome": "done"})
    told = sandbox.request("GET", f"/v1/handoffs/{asked}?wait=30")
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"})  # no field for a password has the focus any more
    return told


def test_an_agent_gets_a_receipt_of_what_a_person_changed(sandbox: "Sandbox") -> None:
    answers: list[httpx.Response] = []

    def complete() -> bool:
        """A person as quick as this one may be done with a field before it is watched."""
        answers.append(turn(sandbox))
        return bool(answers[-1].json()["data"]["receipt"]["fields"])

    until(complete)
    answer = answers[-1]
    receipt = answer.json()["data"]["receipt"]
    assert receipt["fields"] == ["Street"]
    assert "/home/gem/by-a-person.txt" in receipt["files"]
    assert {"was": "about:blank", "now": "data:…"} in receipt["tabs"]
    assert (receipt["ended"], receipt["note"]) == ("released", "signed in")
    assert PASSWORD not in answer.text
    assert sandbox.request("GET", "/v1/control").json()["data"]["receipt"]["id"] == receipt["id"]
    for picture in (receipt["before"], receipt["after"]):
        shown = sandbox.request("GET", picture)
        assert (shown.headers["content-type"], shown.content[:2]) == ("image/jpeg", b"\xff\xd8")


def test_the_screen_is_filmed_while_somebody_acts(sandbox: "Sandbox") -> None:
    before = last(sandbox)
    sandbox.request("POST", "/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 90, "y": 91})

    def films() -> list[dict[str, Any]]:
        answer = sandbox.request("GET", "/v1/recorder/video").json()["data"]
        return [film for film in answer["films"] if film["bytes"] > 1000]

    until(films)
    name = films()[-1]["name"]
    film = sandbox.request("GET", f"/v1/recorder/video/{name}", headers={"Range": "bytes=4-7"})
    assert (film.status_code, film.content, film.headers["content-type"]) == (206, b"ftyp", "video/mp4")
    pinned = sandbox.request("POST", "/v1/recorder/pin", json={"note": "look"}).json()["data"]
    assert any(film["pinned"] for film in films())
    assert sandbox.request("DELETE", f"/v1/recorder/pin/{pinned['id']}").status_code == 200
    with zipfile.ZipFile(io.BytesIO(sandbox.request("GET", "/v1/recorder/export").content)) as archive:
        assert {"events", "video", "verify.py"} <= {entry.split("/")[0] for entry in archive.namelist()}
    until(lambda: [event["event"] for event in events(sandbox, after=before, kind="video")] == ["pinned", "unpinned"])


def test_the_player_shows_it_to_an_admin_alone(sandbox: "Sandbox") -> None:
    page = Person(sandbox).ask("GET", "/recorder")
    assert page.status_code == 200
    assert "/static/recorder/recorder.js" in page.text
    assert Person(sandbox, "view", "control").ask("GET", "/recorder").status_code == 403
