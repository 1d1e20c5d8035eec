"""Who opens a terminal through the gateway, and what several who have one see of each other."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.image.container import Sandbox

SECONDS = 30.0


class Page:
    """A page at the other end of the socket; it has been told its session."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.messages: list[dict[str, Any]] = []
        self.until(lambda: self.messages)
        assert self.messages[0]["type"] == "session_id"
        self.session: str = self.messages[0]["data"]

    @property
    def output(self) -> str:
        """The bytes for its terminal so far."""
        return "".join(message["data"] for message in self.messages if message["type"] == "output")

    def type(self, text: str) -> None:
        """Type at the terminal."""
        self._socket.send(json.dumps({"type": "input", "data": text}))

    def until(self, true: Callable[[], object]) -> None:
        """Take messages until something holds; fail when none comes for a while."""
        while not true():
            self.messages.append(json.loads(self._socket.recv(timeout=SECONDS)))


@contextmanager
def terminal(sandbox: "Sandbox", headers: dict[str, str] | None = None) -> Iterator[Page]:
    """A new terminal, signed in by the key unless there are other headers; its session is closed at the end."""
    url = f"ws://{sandbox.name}:{sandbox.port}/v1/shell/ws"
    given = sandbox.headers if headers is None else headers
    with connect(url, additional_headers=given, open_timeout=SECONDS, proxy=None) as socket:
        page = Page(socket)
        yield page
        sandbox.request("DELETE", f"/v1/shell/sessions/{page.session}")


def refusal(sandbox: "Sandbox", headers: dict[str, str]) -> int:
    """The status with which a terminal is refused."""
    with pytest.raises(InvalidStatus) as refused, terminal(sandbox, headers):
        pass
    return refused.value.response.status_code


def signed_in(link: str) -> str:
    """The cookie of a browser that followed a link."""
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False, follow_redirects=True, headers={"Accept": "text/html"}) as browser:
        assert browser.get(link).status_code == 200
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


def test_the_terminal_is_the_agents(sandbox: "Sandbox") -> None:
    with terminal(sandbox) as page:
        page.type("echo $((6 * 7)) é日本; id -un; pwd\n")
        page.until(lambda: "42 é日本\r\ngem\r\n/home/gem\r\n" in page.output)


def test_without_credentials_there_is_no_terminal(sandbox: "Sandbox") -> None:
    assert refusal(sandbox, {}) == 401
    assert refusal(sandbox, {"Authorization": "Bearer wrong"}) == 401
    assert refusal(sandbox, {"X-Sandbox-Caller": "key", "X-Sandbox-Scopes": "shell"}) == 401


def test_who_may_only_look_opens_no_terminal(sandbox: "Sandbox") -> None:
    tickets = [sandbox.request("POST", "/tickets", json={"scopes": scopes}).json()["ticket"] for scopes in (["view"], ["view", "shell"])]
    looking, using = ({"Cookie": signed_in(f"{sandbox.base_url}/?ticket={ticket}"), "Origin": sandbox.base_url} for ticket in tickets)
    assert refusal(sandbox, looking) == 403
    with terminal(sandbox, using) as page:
        page.until(lambda: page.output)


def test_a_browser_that_signed_in_opens_a_terminal_and_another_sites_page_does_not(sandbox: "Sandbox") -> None:
    link = sandbox.exec("sandbox", "sign-in", "--url", sandbox.base_url).stdout.strip()
    cookie = signed_in(link)
    person = {"Cookie": cookie, "Origin": sandbox.base_url}
    with terminal(sandbox, person) as page:
        page.type("echo $((6 * 7))\n")
        page.until(lambda: "42\r\n" in page.output)
        released = sandbox.http.post(f"{sandbox.base_url}/v1/control/release", headers=person)
        assert released.status_code == 200, "typing took control of the shells"
    assert refusal(sandbox, {"Cookie": cookie, "Origin": "http://evil.example"}) in (401, 403)
    assert refusal(sandbox, {"Cookie": cookie}) in (401, 403)


def test_a_person_answers_what_the_agents_command_asks(sandbox: "Sandbox") -> None:
    with terminal(sandbox) as page:
        command = {"id": page.session, "command": "read -r -p 'Name? ' name; echo hello $name", "async_mode": True}
        sandbox.request("POST", "/v1/shell/exec", json=command)
        page.until(lambda: "Name? " in page.output.rpartition("\r\n")[2])
        page.type("Ada\n")
        page.until(lambda: "hello Ada\r\n" in page.output)
        waited = sandbox.request("POST", "/v1/shell/wait", json={"id": page.session, "seconds": 30}).json()
        assert waited["data"] == {"status": "completed"}


def test_terminals_do_not_mix(sandbox: "Sandbox") -> None:
    with terminal(sandbox) as one, terminal(sandbox) as other:
        assert one.session != other.session
        one.type("echo o''ne\n")
        other.type("echo o''ther\n")
        one.until(lambda: "one\r\n" in one.output)
        other.until(lambda: "other\r\n" in other.output)
        assert "other" not in one.output


def test_a_terminal_whose_session_is_closed_says_so_and_ends(sandbox: "Sandbox") -> None:
    with terminal(sandbox) as page:
        page.until(lambda: page.output)
        assert sandbox.request("DELETE", f"/v1/shell/sessions/{page.session}").status_code == 200
        with pytest.raises(ConnectionClosed) as ended:
            page.until(lambda: False)
        assert page.messages[-1] == {"type": "error", "data": "Session closed"}
        assert ended.value.rcvd
        assert ended.value.rcvd.code == 1000
