"""Many clients of one browser, each as if it were alone."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from sandbox_server.cdp import websockets
from sandbox_server.cdp.command_rules import OWN
from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.identity import ALL_SCOPES, Caller
from tests.patience import PATIENCE_SECONDS, until

BrowserServer = Any
Session = Any

SCOPES = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "browser"}
MIB = 1 << 20


@pytest.fixture
def ann(shared: BrowserServer) -> Iterator[Session]:
    with shared.connect() as client:
        yield client


@pytest.fixture
def bob(shared: BrowserServer) -> Iterator[Session]:
    with shared.connect() as client:
        yield client


@pytest.fixture
def tab(ann: Session) -> Iterator[str]:
    """A tab of this test's own."""
    target = ann.result("Target.createTarget", url="about:blank")["targetId"]
    yield target
    ann.command("Target.closeTarget", targetId=target)


def test_two_clients_drive_one_tab_and_each_hears_what_it_asked_to_hear(ann: Session, bob: Session, tab: str) -> None:
    hers, his = ann.attach(tab), bob.attach(tab)
    assert hers != his
    ann.result("Runtime.enable", hers)
    assert bob.evaluate("console.log('from bob'); window.mark = 7", his) == 7
    assert ann.event("Runtime.consoleAPICalled")["args"][0]["value"] == "from bob"
    assert ann.evaluate("window.mark", hers) == 7
    assert bob.result("Target.getTargets")
    assert "Runtime.consoleAPICalled" not in [event.get("method") for event in bob.events]


def test_a_client_cannot_use_a_session_of_another(ann: Session, bob: Session, tab: str) -> None:
    hers = ann.attach(tab)
    assert bob.command("Runtime.evaluate", hers, expression="1")["error"]["code"] == -32001
    assert "error" in bob.command("Target.detachFromTarget", sessionId=hers)
    assert ann.evaluate("1 + 1", hers) == 2


def test_a_client_that_goes_undoes_what_it_set_up_and_nothing_else(shared: BrowserServer, ann: Session, tab: str) -> None:
    hers = ann.attach(tab)
    ann.result("Emulation.setTimezoneOverride", hers, timezoneId="Asia/Tokyo")
    with shared.connect() as bob:
        his = bob.attach(tab)
        bob.result("Emulation.setDeviceMetricsOverride", his, width=333, height=444, deviceScaleFactor=1, mobile=False)
        until(lambda: ann.evaluate("innerWidth", hers) == 333)
    until(lambda: ann.evaluate("innerWidth", hers) != 333)
    assert ann.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone", hers) == "Asia/Tokyo"


def test_a_page_that_a_client_stopped_runs_on_when_the_client_is_gone(shared: BrowserServer, ann: Session, tab: str) -> None:
    hers = ann.attach(tab)
    bob = shared.connect()
    his = bob.attach(tab)
    bob.result("Debugger.enable", his)
    bob.send("Runtime.evaluate", his, expression="debugger")
    bob.event("Debugger.paused")
    waiting = ann.send("Runtime.evaluate", hers, expression="'runs again'")
    bob.socket.close()
    assert ann.reply(waiting)["result"]["result"]["value"] == "runs again"


def test_a_client_of_a_page_needs_no_session_and_ends_with_the_page(shared: BrowserServer, ann: Session, tab: str) -> None:
    with shared.connect(f"/devtools/page/{tab}") as page:
        assert page.evaluate("6 * 7") == 42
        page.result("Runtime.enable")
        page.evaluate("console.log('hello')")
        assert page.event("Runtime.consoleAPICalled")["args"][0]["value"] == "hello"
        assert all("sessionId" not in event for event in page.events)
        ann.result("Target.closeTarget", targetId=tab)
        assert page.until_closed() == (1001, "the page was closed")


def wait_in_vain(client: Session, session: str | None) -> int:
    """Ask what is never answered, and return once the browser has read it."""
    number: int = client.send("Runtime.evaluate", session, expression="new Promise(() => {})", awaitPromise=True)
    assert client.evaluate("6 * 7", session) == 42
    return number


def test_what_waits_in_a_page_that_closes_is_answered(shared: BrowserServer, ann: Session, bob: Session, tab: str) -> None:
    hers = ann.attach(tab)
    with shared.connect(f"/devtools/page/{tab}") as page:
        asked = [wait_in_vain(client, session) for client, session in ((ann, hers), (page, None))]
        bob.result("Target.closeTarget", targetId=tab)
        assert ann.reply(asked[0])["error"]["code"] in (-32001, -32000)  # Chromium may be quick enough to say itself that its page goes
        assert page.reply(asked[1])["error"]["code"] == -32000
        assert page.until_closed() == (1001, "the page was closed")
    until(lambda: "error" in ann.command("Target.attachToTarget", targetId=tab, flatten=True))


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/devtools/page/NONE", SCOPES, 404),
        ("/devtools/browser/x", {}, 401),
        ("/devtools/browser/x", {"X-Sandbox-Caller": "eve", "X-Sandbox-Scopes": "view"}, 403),
    ],
)
def test_a_client_that_may_not_come_in_is_told_why(shared: BrowserServer, path: str, headers: dict[str, str], status: int) -> None:
    with pytest.raises(InvalidStatus) as refused:
        shared.connect(path, headers=headers)
    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body or b"")["success"] is False


def test_large_messages_pass_in_both_directions(ann: Session, tab: str) -> None:
    hers = ann.attach(tab)
    assert len(ann.evaluate(f"'é'.repeat({20 * MIB})", hers)) == 20 * MIB
    assert ann.evaluate(f"'{'x' * (40 * MIB)}'.length", hers) == 40 * MIB


def test_what_chromium_would_close_its_pipe_on_is_refused_and_the_client_goes_on(ann: Session, tab: str) -> None:
    hers = ann.attach(tab)
    reply = ann.command("Runtime.evaluate", hers, expression=f"'{'x' * (100 * MIB)}'.length")
    assert "bytes" in reply["error"]["message"]
    assert ann.evaluate("2 + 2", hers) == 4


def test_a_result_over_the_limit_is_an_error_and_the_client_goes_on(ann: Session, tab: str) -> None:
    hers = ann.attach(tab)
    reply = ann.command("Runtime.evaluate", hers, expression=f"'é'.repeat({45 * MIB})", returnByValue=True)
    assert "over" in reply["error"]["message"]
    assert ann.evaluate("2 + 2", hers) == 4


def test_a_client_that_does_not_read_is_closed_and_stalls_nobody(shared: BrowserServer, ann: Session, tab: str) -> None:
    hers = ann.attach(tab)
    slow = shared.connect(f"/devtools/page/{tab}")
    slow.result("Runtime.enable")
    for _ in range(400):  # each is answered, or fails
        ann.evaluate(f"console.log('x'.repeat({MIB})); 1", hers)
    code, reason = slow.until_closed()
    assert code == 1013
    assert "slow" in reason


def silent_client(server: BrowserServer, page: str, expression: str) -> socket.socket:
    """A client that asks for the value of an expression and reads nothing of the answer."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(server.socket)
    headers = {**SCOPES, "Host": "x", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    head = "".join(f"{name}: {value}\r\n" for name, value in (headers | {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}).items())
    client.sendall(f"GET /devtools/page/{page} HTTP/1.1\r\n{head}\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += client.recv(1)
    assert answer.startswith(b"HTTP/1.1 101"), answer
    command = json.dumps({"id": 1, "method": "Runtime.evaluate", "params": {"expression": expression, "returnByValue": True}}).encode()
    client.sendall(bytes([0x81, 0x80 | 126, *len(command).to_bytes(2, "big"), 0, 0, 0, 0]) + command)
    return client


def read_of(client: socket.socket) -> int:
    """How many bytes a client still gets, of an answer or until it is cut off."""
    size = 0
    client.settimeout(PATIENCE_SECONDS)
    with suppress(ConnectionResetError):
        while size < 24 * MIB and (piece := client.recv(MIB)):
            size += len(piece)
    return size


def test_of_many_clients_that_never_read_most_are_cut_off_and_one_that_reads_goes_on(shared: BrowserServer, ann: Session, tab: str) -> None:
    hers = ann.attach(tab)
    with ExitStack() as stack:
        silent = []
        for number in range(12):
            asked = f"window.asked = {number}; 'x'.repeat({24 * MIB})"
            silent.append(stack.enter_context(silent_client(shared, tab, asked)))
            until(partial(ann.evaluate, "window.asked", hers), number.__eq__)
        assert len(ann.evaluate(f"'y'.repeat({8 * MIB})", hers)) == 8 * MIB
        whole = [size for client in silent if (size := read_of(client)) >= 24 * MIB]
    assert len(whole) <= 4


def test_twenty_clients_at_once_each_get_their_own_answers(shared: BrowserServer) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        with shared.connect() as client:
            target = client.result("Target.createTarget", url="about:blank")["targetId"]
            session = client.attach(target)
            wrong.extend(
                got for step in range(50) if (got := client.evaluate(f"{number} * 1000 + {step}", session)) != number * 1000 + step
            )
            client.result("Target.closeTarget", targetId=target)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)


def test_programs_have_so_many_places_and_people_have_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websockets, "MAX_CLIENTS", 3)
    monkeypatch.setattr(websockets, "MAX_PER_CALLER", 2)
    places = websockets.ClientSlots()
    with ExitStack() as open_now:
        for name in ("key", "key", "other"):
            open_now.enter_context(places.taken(Caller(name)))
        for name in ("key", "third"):
            with pytest.raises(ResourceExhausted), places.taken(Caller(name)):
                pass
        open_now.enter_context(places.taken(Caller("ann", person=True)))
        open_now.enter_context(places.taken(Caller("api", ALL_SCOPES | {OWN})))
    with places.taken(Caller("third")):
        pass
