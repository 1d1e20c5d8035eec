"""Windows, the clipboard and programs of the desktop, through the gateway, with programs of the agent."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.image.test_control import Person, person
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

__all__ = ["person"]


def launched(sandbox: "Sandbox", command: str) -> dict[str, Any]:
    """A program on the desktop, and its window."""
    answer = sandbox.request("POST", "/v1/screen/programs", json={"command": command, "wait": 30}, timeout=60)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    assert data["windows"], answer.text
    return data


def test_a_program_is_started_moved_and_closed(sandbox: "Sandbox") -> None:
    started = launched(sandbox, "exec xmessage -title placed text")
    window = started["windows"][0]
    assert (window["title"], window["program"]) == ("placed", "Xmessage")
    path = f"/v1/screen/windows/{window['ref']}"
    placed = sandbox.request("PATCH", path, json={"x": 120, "y": 140, "width": 500, "height": 300}).json()
    assert (placed["data"]["state"], placed["data"]["x"], placed["data"]["y"]) == ("normal", 120, 140)
    for state in ("maximized", "minimized", "fullscreen", "normal"):
        assert sandbox.request("PATCH", path, json={"state": state}).json()["data"]["state"] == state
    assert sandbox.request("PATCH", path, json={"state": "tiled"}).status_code == 422
    assert sandbox.request("DELETE", path).json()["data"] == {"ref": window["ref"], "closed": True}
    assert sandbox.request("PATCH", path, json={"state": "normal"}).status_code == 409
    asked = {"session_id": started["program"]["session_id"]}
    until(lambda: sandbox.request("POST", "/v1/bash/output", json=asked).json()["data"]["command"]["status"] != "running")


def test_a_program_that_cannot_start_is_answered_with_what_it_wrote(sandbox: "Sandbox") -> None:
    answer = sandbox.request("POST", "/v1/screen/programs", json={"command": "nonexistent-program"}).json()
    assert (answer["data"]["windows"], answer["data"]["program"]["exit_code"]) == ([], 127)
    assert "nonexistent-program" in answer["data"]["program"]["stderr"]


def test_a_text_goes_over_the_clipboard_into_a_page(sandbox: "Sandbox") -> None:
    page = "data:text/html,<title>paste</title><body style='margin:0'><textarea autofocus style='position:fixed;inset:0'></textarea>"
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": page}).raise_for_status()
    sandbox.request("PUT", "/v1/screen/clipboard", json={"text": "grüße aus der API"}).raise_for_status()
    actions = [{"action_type": "CLICK", "x": 600, "y": 500}, {"action_type": "HOTKEY", "keys": ["ctrl", "v"]}]
    sandbox.request("POST", "/v1/browser/actions/batch", json={"actions": actions}).raise_for_status()
    look = {"expression": "document.querySelector('textarea').value"}
    until(lambda: sandbox.request("POST", "/v1/browser/page/evaluate", json=look).json()["data"] == "grüße aus der API")
    assert sandbox.request("GET", "/v1/screen/clipboard").json()["data"] == {"text": "grüße aus der API"}
    assert sandbox.request("PUT", "/v1/screen/clipboard", json={"text": "x" * ((1 << 20) + 1)}).status_code == 422


def test_while_a_person_has_the_screen_windows_and_clipboard_are_theirs(sandbox: "Sandbox", person: Person) -> None:
    window = launched(sandbox, "exec xmessage -title mine text")["windows"][0]
    person.control("take")
    calls = (
        ("PATCH", f"/v1/screen/windows/{window['ref']}", {"state": "minimized"}),
        ("DELETE", f"/v1/screen/windows/{window['ref']}", None),
        ("GET", "/v1/screen/clipboard", None),
        ("PUT", "/v1/screen/clipboard", {"text": "mine"}),
        ("POST", "/v1/screen/programs", {"command": "xmessage text"}),
    )
    assert [sandbox.request(verb, path, json=body).status_code for verb, path, body in calls] == [423] * len(calls)
    person.control("release")
    assert sandbox.request("DELETE", f"/v1/screen/windows/{window['ref']}").json()["data"]["closed"]


@pytest.mark.parametrize(("command", "kind"), [("read -p 'Go on? ' x", "line"), ("sudo -k; read -s -p 'Password: ' x", "hidden")])
def test_a_view_of_a_shell_says_what_waits_for_input(sandbox: "Sandbox", command: str, kind: str) -> None:
    started = sandbox.request("POST", "/v1/shell/exec", json={"command": command, "async_mode": True}).json()["data"]
    asked = {"id": started["session_id"]}
    until(lambda: sandbox.request("POST", "/v1/shell/view", json=asked).json()["data"]["terminal"]["waits"])
    waits = sandbox.request("POST", "/v1/shell/view", json=asked).json()["data"]["terminal"]["waits"]
    assert (waits["kind"], waits["program"], waits["prompt"]) == (kind, "bash", "Go on?" if kind == "line" else "Password:")
