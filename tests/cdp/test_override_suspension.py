"""What clients put in force rests while a person has the pages."""

import json
from typing import Any

from sandbox_server.cdp.command_rules import OWN, OWNER, ClientRules
from sandbox_server.cdp.devtools_clients import ClientEnded, ClientMessage, DevtoolsClient, ToBrowser
from sandbox_server.cdp.multiplexer import Multiplexer
from sandbox_server.core.control import Holding
from sandbox_server.core.identity import ALL_SCOPES, Caller

BASE, CHILD = "A" * 32, "C" * 32
HELD = Holding(2, "human", "ann", frozenset({"gui", "cdp"}))
SCRIPT = "Page.addScriptToEvaluateOnNewDocument"


class Client:
    """A client, and the browser behind."""

    def __init__(self, caller: Caller) -> None:
        self.rules = ClientRules()
        self.mux = Multiplexer(self.rules)
        self.peer: DevtoolsClient = self.mux.add(caller, BASE, "PAGE")

    def send(self, method: str, **params: object) -> dict[str, Any]:
        """What becomes of a command: what the browser reads, or the client's answer."""
        sent = self.mux.from_peer(self.peer, json.dumps({"id": 1, "method": method, "params": params}))
        message: dict[str, Any] = json.loads(sent.message)
        return message

    def hold(self, holding: Holding) -> list[tuple[str, str, Any]]:
        """What the browser reads when somebody else has the pages."""
        self.rules.holding = holding
        sent = [json.loads(each.message) for each in self.mux.suspension.rest(self.peer) if isinstance(each, ToBrowser)]
        return [(each["id"], each["method"], each["params"]) for each in sent]

    def hears(self, **message: object) -> dict[str, Any] | None:
        """How the client reads what the browser sent to its session."""
        told = self.mux.from_browser(json.dumps(message | {"sessionId": BASE}, separators=(",", ":")).encode())
        return json.loads(told.message) if isinstance(told, ClientMessage) else None

    def due(self) -> list[tuple[str, Any]]:
        return [(each["method"], each["params"]) for each in map(json.loads, self.mux.suspension.due())]


def test_what_a_client_put_in_force_is_taken_off_and_put_back() -> None:
    client = Client(Caller("key"))
    client.send("Fetch.enable", patterns=[{"urlPattern": "*"}])
    assert [each[1:] for each in client.hold(HELD)] == [("Fetch.disable", {})]
    assert [each[1:] for each in client.hold(Holding(3))] == [("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})]


def test_so_is_what_the_api_put_in_force_and_what_the_owner_of_the_browser_did_stays() -> None:
    api, browser_server = Client(Caller("api", ALL_SCOPES | {OWN})), Client(OWNER)
    for client in (api, browser_server):
        client.send("Emulation.setCPUThrottlingRate", rate=20)
    assert [each[1:] for each in api.hold(HELD)] == [("Emulation.setCPUThrottlingRate", {"rate": 1})]
    assert browser_server.hold(HELD) == []


def test_a_client_never_learns_that_its_script_has_another_name() -> None:
    client = Client(Caller("key"))
    number = client.send(SCRIPT, source="a()")["id"]
    assert client.hears(id=number, result={"identifier": "1"}) == {"id": 1, "result": {"identifier": "1"}}
    [(_, method, params)] = client.hold(HELD)
    assert (method, params) == ("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"})
    [(again, method, params)] = client.hold(Holding(3))
    assert (method, params) == (SCRIPT, {"source": "a()"})
    assert client.hears(id=again, result={"identifier": "2"}) is None
    assert client.send("Page.removeScriptToEvaluateOnNewDocument", identifier="1")["params"] == {"identifier": "2"}


def test_a_script_that_was_on_its_way_when_a_person_took_the_pages_is_taken_off_as_it_arrives() -> None:
    client = Client(Caller("key"))
    number = client.send(SCRIPT, source="a()")["id"]
    client.hold(HELD)
    client.hears(id=number, result={"identifier": "1"})
    assert client.due() == [("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"})]


def test_a_script_that_is_removed_while_it_rests_does_not_come_back() -> None:
    client = Client(Caller("key"))
    number = client.send(SCRIPT, source="a()")["id"]
    client.hears(id=number, result={"identifier": "1"})
    client.hold(HELD)
    assert client.send("Page.removeScriptToEvaluateOnNewDocument", identifier="1") == {"id": 1, "result": {}}
    assert client.hold(Holding(3)) == []


def test_a_script_that_is_removed_while_it_comes_back_is_taken_off_again() -> None:
    client = Client(Caller("key"))
    number = client.send(SCRIPT, source="a()")["id"]
    client.hears(id=number, result={"identifier": "1"})
    client.hold(HELD)
    [(again, _, _)] = client.hold(Holding(3))
    client.send("Page.removeScriptToEvaluateOnNewDocument", identifier="1")
    client.hears(id=again, result={"identifier": "2"})
    assert client.due() == [("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "2"})]


def test_what_clients_send_to_every_new_page_is_put_in_force_afterwards() -> None:
    client = Client(Caller("key"))
    client.hold(HELD)
    assert client.send("Emulation.setEmulatedMedia", media="print") == {"id": 1, "result": {}}
    assert "held_by_human" in client.send("Emulation.setCPUThrottlingRate", rate=20)["error"]["message"]
    assert [each[1:] for each in client.hold(Holding(3))] == [("Emulation.setEmulatedMedia", {"media": "print"})]


def test_rules_for_requests_of_the_api_s_are_not_in_force_in_pages_that_open_meanwhile() -> None:
    api = Client(Caller("api", ALL_SCOPES | {OWN}))
    api.hold(HELD)
    assert api.send("Network.setExtraHTTPHeaders", headers={"a": "b"}) == {"id": 1, "result": {}}
    assert api.send("Emulation.setCPUThrottlingRate", rate=2)["method"] == "Emulation.setCPUThrottlingRate"
    again = [each[1:] for each in api.hold(Holding(3))]
    assert ("Network.setExtraHTTPHeaders", {"headers": {"a": "b"}}) in again


def test_a_caller_without_the_scope_defers_nothing() -> None:
    client = Client(Caller("eve", frozenset({"view"})))
    client.hold(HELD)
    assert "scope" in client.send("Fetch.enable")["error"]["message"]


def test_no_client_holds_up_a_page_that_a_person_opens() -> None:
    client = Client(Caller("key"))
    client.hold(HELD)
    client.hears(
        method="Target.attachedToTarget",
        params={"sessionId": CHILD, "targetInfo": {"targetId": "T", "url": ""}, "waitingForDebugger": True},
    )
    assert client.due() == [("Runtime.runIfWaitingForDebugger", {})]


def test_nobody_stays_attached_to_the_tools_of_the_browser() -> None:
    client = Client(Caller("key"))
    info = {"targetId": "T", "url": "devtools://devtools/bundled/inspector.html"}
    client.hears(method="Target.attachedToTarget", params={"sessionId": CHILD, "targetInfo": info})
    assert client.due() == [("Target.detachFromTarget", {"sessionId": CHILD})]
    client.hears(method="Target.attachedToTarget", params={"sessionId": "D" * 32, "targetInfo": {"targetId": "U", "url": ""}})
    assert client.mux.shun("U") == []
    assert client.due() == [("Target.detachFromTarget", {"sessionId": "D" * 32})]


def test_what_has_no_way_back_ends_with_its_session() -> None:
    client = Client(Caller("key"))
    client.hears(method="Target.attachedToTarget", params={"sessionId": CHILD, "targetInfo": {"targetId": "T"}})
    client.mux.from_peer(client.peer, json.dumps({"id": 3, "method": "Emulation.setHardwareConcurrencyOverride", "sessionId": CHILD}))
    assert ("Target.detachFromTarget", {"sessionId": CHILD}) in [each[1:] for each in client.hold(HELD)]
    whole = Client(Caller("key"))
    whole.send("Emulation.setHardwareConcurrencyOverride", hardwareConcurrency=3)
    whole.rules.holding = HELD
    [ended] = whole.mux.suspension.rest(whole.peer)
    assert isinstance(ended, ClientEnded)
    assert "ends with its session" in ended.reason
