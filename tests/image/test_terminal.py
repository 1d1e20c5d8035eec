"""The terminal page and its socket through the gateway: a person and an agent at the same session."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection

from tests.image.sockets import connect
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.image.container import Sandbox


class Person:
    """One open terminal."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.seen = ""
        self.session = self.receive("session_id")["data"]
        self.receive("ready")

    def receive(self, kind: str) -> dict[str, Any]:
        """The next message of a kind; output on the way is kept in `seen`."""
        while True:
            message: dict[str, Any] = json.loads(self.connection.recv(timeout=PATIENCE_SECONDS))
            if message["type"] == "output":
                self.seen += message["data"]
            if message["type"] == kind:
                return message

    def sees(self, text: str) -> str:
        """Wait until a text has come; gives everything that was seen."""
        while text not in self.seen:
            self.receive("output")
        return self.seen

    def send(self, kind: str, data: object) -> None:
        """Send a message."""
        self.connection.send(json.dumps({"type": kind, "data": data}))


@contextmanager
def opened(sandbox: "Sandbox", session: str = "") -> Iterator[Person]:
    url = f"{sandbox.base_url.replace('http', 'ws')}/v1/shell/ws" + (f"?session_id={session}" if session else "")
    # Without a limit of unread messages: with one, a client that does not read what it is told waits ten seconds for the end.
    with connect(url, additional_headers=sandbox.headers, proxy=None, max_queue=None) as connection:
        yield Person(connection)


@pytest.fixture(autouse=True)
def _clean(sandbox: "Sandbox") -> Iterator[None]:
    yield
    sandbox.request("DELETE", "/v1/shell/sessions")


def exec_command(sandbox: "Sandbox", session: str, command: str, **options: Any) -> dict[str, Any]:
    answer = sandbox.request("POST", "/v1/shell/exec", json={"id": session, "command": command, **options})
    data: dict[str, Any] = answer.json()["data"]
    return data


def test_a_person_and_an_agent_see_the_same_pane(sandbox: "Sandbox") -> None:
    with opened(sandbox) as person:
        person.sees("$")
        done = exec_command(sandbox, person.session, "x=agent; echo done by the $x")
        person.sees("done by the agent")
        person.send("input", 'echo "and by a person after the $x"\r')
        person.sees("and by a person after the agent")
        viewed = sandbox.request("POST", "/v1/shell/view", json={"id": person.session}).json()["data"]["output"]

    assert done["output"] == "done by the agent\n"
    assert "$ x=agent; echo done by the $x" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", person.seen)
    assert "and by a person after the agent" in viewed
    assert "7133" not in person.seen, "the marks of the shell are for the server alone"


def test_who_comes_back_sees_what_was_there_and_goes_on(sandbox: "Sandbox") -> None:
    with opened(sandbox) as person:
        person.sees("$")
        person.send("input", "seq 1 200; y=kept\r")
        person.sees("200\r\n")
    with opened(sandbox, person.session) as again:
        again.sees("\r\n1\r\n2\r\n")
        again.sees("200\r\n")
        again.send("input", "echo still $y\r")
        again.sees("still kept")

    assert again.session == person.session


def test_who_comes_to_a_full_screen_program_sees_its_screen(sandbox: "Sandbox") -> None:
    exec_command(sandbox, "full screen", "printf 'line %d\\n' {1..100} >/tmp/lines; PAGER= less /tmp/lines", timeout=0.5)
    with opened(sandbox, "full%20screen") as person:
        person.sees("line 20")
        person.send("input", "q")
        person.sees("$")

    assert "\x1b[?1049h" in person.seen


def test_the_size_is_the_one_that_was_asked_for_last(sandbox: "Sandbox") -> None:
    with opened(sandbox) as one:
        one.sees("$")
        one.send("resize", {"cols": 97, "rows": 41})
        until(lambda: exec_command(sandbox, one.session, "stty size")["output"] == "41 97\n")
        with opened(sandbox, one.session) as other:
            told = other.receive("resize")["data"]
            other.send("resize", {"cols": 60, "rows": 20})
            adopted = one.receive("resize")["data"]
        until(lambda: exec_command(sandbox, one.session, "stty size")["output"] == "20 60\n")  # tmux tells programs a moment later

    assert (told, adopted) == ({"cols": 97, "rows": 41}, {"cols": 60, "rows": 20})


def test_a_shell_that_was_left_opens_again_with_enter(sandbox: "Sandbox") -> None:
    with opened(sandbox) as person:
        person.sees("$")
        person.send("input", "exit 3\r")
        person.sees("[shell ended: exit code 3. Press Enter to reopen]")
        person.send("input", "\r")
        person.send("input", "echo open a''gain\r")
        person.sees("open again")


@pytest.mark.parametrize("message", ["no json", '"text"', '{"type": "input"}', '{"type": "resize", "data": 5}', '{"type": "nothing"}'])
def test_a_message_that_makes_no_sense_is_answered_and_the_terminal_stays(sandbox: "Sandbox", message: str) -> None:
    with opened(sandbox) as person:
        person.connection.send(message)
        assert person.receive("error")["data"]
        person.send("pong", {"timestamp": 1})
        person.send("input", "echo st''ill\r")
        person.sees("still")


def test_a_session_that_is_gone_is_said_and_the_socket_closed(sandbox: "Sandbox") -> None:
    with opened(sandbox) as person:
        sandbox.request("DELETE", f"/v1/shell/sessions/{person.session}")
        assert person.receive("error")["data"] == "Session closed"
    url = f"{sandbox.base_url.replace('http', 'ws')}/v1/shell/ws?session_id={person.session}"
    with connect(url, additional_headers=sandbox.headers, proxy=None) as connection:
        refused = json.loads(connection.recv(timeout=PATIENCE_SECONDS))

    assert refused == {"type": "error", "data": "Session not found"}


def test_nobody_gets_a_terminal_without_a_credential(sandbox: "Sandbox") -> None:
    with pytest.raises(InvalidStatus) as raised, connect(f"{sandbox.base_url.replace('http', 'ws')}/v1/shell/ws", proxy=None):
        pass

    assert raised.value.response.status_code == 401


def test_the_page_and_everything_it_loads_is_served(sandbox: "Sandbox") -> None:
    page = sandbox.request("GET", "/terminal?session_id=x")
    waiting, loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text), set[str]()
    while waiting:
        path = waiting.pop()
        if path not in loaded:
            loaded.add(path)
            answer = sandbox.request("GET", path)
            assert answer.is_success, path
            if path.endswith("js") and "/vendor/" not in path:
                waiting += re.findall(r'from "(/static/[^"]+)"', answer.text)

    assert {"/static/terminal/terminal.js", "/static/vendor/xterm.mjs", "/static/vendor/addon-fit.mjs"} <= loaded


def test_sixty_terminals_that_were_opened_and_dropped_keep_nobody_out(sandbox: "Sandbox") -> None:
    for _ in range(60):
        with opened(sandbox):
            pass
    assert sandbox.request("POST", "/v1/shell/exec", json={"command": "echo in"}).json()["data"]["output"] == "in\n"
    with opened(sandbox) as person:
        person.sees("$")


def test_the_url_that_the_api_gives_shows_its_session(sandbox: "Sandbox") -> None:
    url = sandbox.request("GET", "/v1/shell/terminal-url").json()["data"]
    session = url.partition("session_id=")[2]
    assert session not in sandbox.request("GET", "/v1/shell/sessions").json()["data"]["sessions"], "to ask for it makes none"
    with opened(sandbox, session) as person:
        person.sees("$")

    assert url.startswith(f"{sandbox.base_url}/terminal")
    assert person.session == session
