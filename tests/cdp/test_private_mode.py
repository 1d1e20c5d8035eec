"""What clients of DevTools are told while a person is private."""

import json
from typing import Any

import pytest

from sandbox_server.cdp.command_rules import OWN, ClientRules
from sandbox_server.cdp.devtools_clients import ClientMessage, ClientMessages, DevtoolsClient, ToBrowser
from sandbox_server.cdp.messages import DevtoolsCommand
from sandbox_server.cdp.multiplexer import Multiplexer
from sandbox_server.cdp.private_mode import is_quiet
from sandbox_server.core.control import Holding
from sandbox_server.core.identity import ALL_SCOPES, Caller

BASE, CHILD = "A" * 32, "C" * 32
PRIVATE = Holding(2, "human", "ann", frozenset({"gui", "cdp"}), "ann")
URL = "https://bank.example/in?token=secret"


def command(method: str, **params: object) -> DevtoolsCommand:
    return DevtoolsCommand(1, method, None, {"id": 1, "method": method, "params": params})


class Client:
    """A client of the agent's, and the browser behind."""

    def __init__(self, caller: Caller) -> None:
        self.rules = ClientRules()
        self.mux = Multiplexer(self.rules)
        self.peer: DevtoolsClient = self.mux.add(caller, BASE)

    def send(self, method: str, number: int = 1, **params: object) -> dict[str, Any]:
        """What becomes of a command: what the browser reads, or the client's answer."""
        sent = self.mux.from_peer(self.peer, json.dumps({"id": number, "method": method, "params": params}))
        message: dict[str, Any] = json.loads(sent.message)
        return message

    def hold(self, holding: Holding) -> list[dict[str, Any]]:
        """What is sent, to either side, when somebody else may see."""
        self.rules.holding = holding
        told = self.mux.see(self.peer)
        return [{"to": "browser" if isinstance(each, ToBrowser) else "client"} | json.loads(each.message) for each in told]

    def hears(self, **message: object) -> dict[str, Any] | None:
        """How the client reads what the browser sent to its session."""
        told = self.mux.from_browser(json.dumps(message | {"sessionId": BASE}, separators=(",", ":")).encode())
        if told is None:
            return None
        assert isinstance(told, ClientMessage | ClientMessages)
        heard: dict[str, Any] = json.loads(told.messages[0] if isinstance(told, ClientMessages) else told.message)
        return heard


@pytest.fixture
def client() -> Client:
    return Client(Caller("key"))


@pytest.mark.parametrize(
    "method",
    ["Runtime.evaluate", "DOM.getDocument", "Page.captureScreenshot", "Target.getTargets", "Accessibility.getFullAXTree", "CSS.addRule"],
)
def test_whatever_reads_is_refused_and_so_is_what_acts(client: Client, method: str) -> None:
    assert "error" not in client.send(method)
    client.hold(PRIVATE)
    assert "private: ann" in client.send(method, throwOnSideEffect=True)["error"]["message"]
    client.hold(Holding(3))
    assert "error" not in client.send(method)


def test_the_person_and_our_own_clients_see() -> None:
    for caller in (Caller("ann", person=True), Caller("api", ALL_SCOPES | {OWN})):
        found = Client(caller)
        assert found.hold(PRIVATE) == []
        assert found.send("DOM.getDocument")["method"] == "DOM.getDocument"
        assert found.hears(method="DOM.setChildNodes", params={"nodes": ["secret"]})


def test_a_client_that_comes_in_private_sees_nothing_either() -> None:
    found = Client(Caller("key"))
    found.rules.holding = PRIVATE
    late = found.mux.add(Caller("key"), CHILD)
    assert late.hidden


def test_an_answer_that_is_awaited_is_refused_at_once_and_dropped_when_it_comes(client: Client) -> None:
    number = client.send("Runtime.evaluate", number=7)["id"]
    [told] = client.hold(PRIVATE)
    assert (told["to"], told["id"]) == ("client", 7)
    assert "private" in told["error"]["message"]
    assert client.hears(id=number, result={"result": {"value": "secret"}}) is None
    assert client.peer.pending == 0


def test_events_tell_of_pages_that_come_and_go_and_nothing_of_what_is_in_them(client: Client) -> None:
    frame = {"id": "F", "url": URL, "urlFragment": "#secret", "name": "secret", "securityOrigin": "https://bank.example"}
    navigated: dict[str, Any] = {"method": "Page.frameNavigated", "params": {"frame": frame, "type": "Navigation"}}
    console: dict[str, Any] = {"method": "Runtime.consoleAPICalled", "params": {"args": ["secret"]}}
    assert client.hears(**navigated) == navigated
    client.hold(PRIVATE)
    told = client.hears(**navigated)
    assert told
    assert told["params"]["frame"] == {"id": "F", "url": "about:blank", "urlFragment": "", "name": "", "securityOrigin": ""}
    for dropped in (console, {"method": "Network.requestWillBeSent", "params": {}}, {"method": "New.event", "params": {}}):
        assert client.hears(**dropped) is None
    context = {"context": {"id": 1, "origin": "https://bank.example", "name": "__playwright_utility_world__"}}
    told = client.hears(method="Runtime.executionContextCreated", params=context)
    assert told
    assert told["params"]["context"] == {"id": 1, "origin": "", "name": "__playwright_utility_world__"}


def test_a_new_page_can_be_set_up_without_a_word_of_what_is_in_it(client: Client) -> None:
    client.hold(PRIVATE)
    for method in ("Page.enable", "Runtime.enable", "Log.enable", "Runtime.runIfWaitingForDebugger", "Target.setAutoAttach", "DOM.disable"):
        assert client.send(method)["method"] == method
    number = client.send("Page.getFrameTree", number=5)["id"]
    told = client.hears(id=number, result={"frameTree": {"frame": {"id": "F", "url": URL, "name": "n"}}})
    assert told == {"id": 5, "result": {"frameTree": {"frame": {"id": "F", "url": "about:blank", "name": ""}}}}
    assert is_quiet(command("Page.addScriptToEvaluateOnNewDocument", source=""))
    assert not is_quiet(command("Page.addScriptToEvaluateOnNewDocument", source="steal()"))


def test_what_collects_stands_still_and_begins_again(client: Client) -> None:
    client.send("Network.enable", maxPostDataSize=9)
    client.send("Page.startScreencast", format="png")
    client.send("Page.stopScreencast")
    client.send("Tracing.start")
    client.hears(id=1, result={})
    sent = [(each["method"], each["params"]) for each in client.hold(PRIVATE) if each["to"] == "browser"]
    assert sent == [
        ("Network.disable", {}),
        ("Tracing.end", {}),
    ]
    again = [(each["method"], each["params"]) for each in client.hold(Holding(3))]
    assert again == [("Network.enable", {"maxPostDataSize": 9})]


def test_what_would_collect_begins_when_the_client_may_see_again(client: Client) -> None:
    client.hold(PRIVATE)
    assert client.send("Network.enable", number=4, maxPostDataSize=1) == {"id": 4, "result": {}}
    assert [each["method"] for each in client.hold(Holding(3))] == ["Network.enable"]


def test_where_frames_and_targets_are_by_then_is_told_afterwards(client: Client) -> None:
    client.send("Page.enable")
    client.send("Target.setDiscoverTargets", discover=True)
    client.hold(PRIVATE)
    tree, targets = client.hold(Holding(3))
    assert (tree["method"], targets["method"]) == ("Page.getFrameTree", "Target.getTargets")
    answer = {"frameTree": {"frame": {"id": "F", "url": URL}, "childFrames": [{"frame": {"id": "G", "url": "https://ad.example/"}}]}}
    told = client.mux.from_browser(json.dumps({"id": tree["id"], "result": answer, "sessionId": BASE}, separators=(",", ":")).encode())
    assert isinstance(told, ClientMessages)
    assert [json.loads(each)["params"]["url"] for each in told.messages] == [URL, "https://ad.example/"]
    infos = {"targetInfos": [{"targetId": "T", "url": URL}]}
    told = client.mux.from_browser(json.dumps({"id": targets["id"], "result": infos, "sessionId": BASE}, separators=(",", ":")).encode())
    assert isinstance(told, ClientMessages)
    assert json.loads(told.messages[0])["method"] == "Target.targetInfoChanged"


def test_what_is_asked_for_a_client_is_dropped_when_it_may_not_see_again(client: Client) -> None:
    client.send("Page.enable")
    client.hold(PRIVATE)
    [asked] = client.hold(Holding(3))
    client.hold(PRIVATE)
    answer = {"id": asked["id"], "result": {"frameTree": {"frame": {"id": "F", "url": URL}}}, "sessionId": BASE}
    assert client.mux.from_browser(json.dumps(answer, separators=(",", ":")).encode()) is None


def test_a_session_that_ended_is_told_nothing(client: Client) -> None:
    client.hears(method="Target.attachedToTarget", params={"sessionId": CHILD, "targetInfo": {}})
    client.mux.from_peer(client.peer, json.dumps({"id": 3, "method": "Page.enable", "sessionId": CHILD}))
    client.hears(method="Target.detachedFromTarget", params={"sessionId": CHILD})
    client.hold(PRIVATE)
    assert client.hold(Holding(3)) == []
