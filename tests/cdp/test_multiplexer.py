"""Who owns which session, and which reply goes to whom."""

import json
from typing import Any

import pytest

from sandbox_server.cdp import multiplexer
from sandbox_server.cdp.command_rules import OWNER, ClientRules
from sandbox_server.cdp.devtools_clients import (
    BrowserEvent,
    ClientEnded,
    ClientMessage,
    ClientMessages,
    DevtoolsClient,
    OwnReply,
    ToBrowser,
)
from sandbox_server.cdp.multiplexer import Multiplexer
from sandbox_server.core.identity import Caller

ANN, BOB = "A" * 32, "B" * 32
CHILD, GRANDCHILD = "C" * 32, "D" * 32


@pytest.fixture
def mux() -> Multiplexer:
    return Multiplexer()


@pytest.fixture
def ann(mux: Multiplexer) -> DevtoolsClient:
    return mux.add(Caller("ann"), ANN)


@pytest.fixture
def bob(mux: Multiplexer) -> DevtoolsClient:
    return mux.add(Caller("bob"), BOB)


def written(**message: object) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def forwarded(mux: Multiplexer, peer: DevtoolsClient, **command: object) -> dict[str, Any]:
    """What the browser gets to read of a command."""
    sent = mux.from_peer(peer, json.dumps(command))
    assert isinstance(sent, ToBrowser)
    message: dict[str, Any] = json.loads(sent.message)
    return message


def refused(mux: Multiplexer, peer: DevtoolsClient, **command: object) -> dict[str, Any]:
    """The error that a command gets at once."""
    sent = mux.from_peer(peer, json.dumps(command))
    assert isinstance(sent, ClientMessage)
    assert sent.peer is peer
    message: dict[str, Any] = json.loads(sent.message)
    return message


def received(mux: Multiplexer, **message: object) -> tuple[DevtoolsClient, dict[str, Any]] | None:
    """Who gets what Chromium sent, and how it reads there."""
    effect = mux.from_browser(written(**message))
    if effect is None:
        return None
    assert isinstance(effect, ClientMessage)
    return effect.peer, json.loads(effect.message)


def attach(mux: Multiplexer, session: str, below: str) -> None:
    mux.from_browser(written(method="Target.attachedToTarget", params={"sessionId": session}, sessionId=below))


def test_two_clients_with_the_same_id_each_get_their_own_reply(mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient) -> None:
    first = forwarded(mux, ann, id=1, method="DOM.enable")
    second = forwarded(mux, bob, id=1, method="DOM.enable")
    assert (first["sessionId"], second["sessionId"]) == (ANN, BOB)
    assert received(mux, id=second["id"], result={"for": "bob"}, sessionId=BOB) == (bob, {"id": 1, "result": {"for": "bob"}})
    assert received(mux, id=first["id"], result={"for": "ann"}, sessionId=ANN) == (ann, {"id": 1, "result": {"for": "ann"}})


def test_an_event_goes_to_the_owner_of_its_session_alone(mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient) -> None:
    assert received(mux, method="Target.targetCreated", params={}, sessionId=BOB) == (bob, {"method": "Target.targetCreated", "params": {}})


def test_a_session_below_the_base_is_its_client_s_and_keeps_its_name(mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient) -> None:
    attach(mux, CHILD, below=ANN)
    command = forwarded(mux, ann, id=4, method="Page.enable", sessionId=CHILD)
    assert command["sessionId"] == CHILD
    assert received(mux, id=command["id"], result={}, sessionId=CHILD) == (ann, {"id": 4, "result": {}, "sessionId": CHILD})


@pytest.mark.parametrize("session", [BOB, CHILD, "nonsense"])
def test_a_session_of_somebody_else_does_not_exist_for_a_client(
    mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient, session: str
) -> None:
    attach(mux, CHILD, below=BOB)
    assert refused(mux, ann, id=4, method="Page.enable", sessionId=session) == {
        "id": 4,
        "error": {"code": -32001, "message": "Session with given id not found."},
    }


def test_what_hangs_below_a_session_ends_with_it(mux: Multiplexer, ann: DevtoolsClient) -> None:
    attach(mux, CHILD, below=ANN)
    attach(mux, GRANDCHILD, below=CHILD)
    mux.from_browser(written(method="Target.detachedFromTarget", params={"sessionId": CHILD}, sessionId=ANN))
    assert refused(mux, ann, id=1, method="DOM.enable", sessionId=GRANDCHILD)["error"]["code"] == -32001
    assert ann.sessions.keys() == {ANN}


def test_what_arrives_for_a_client_that_has_gone_is_dropped(mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient) -> None:
    attach(mux, CHILD, below=ANN)
    command = forwarded(mux, ann, id=1, method="DOM.enable")
    mux.remove(ann)
    assert received(mux, id=command["id"], result={}, sessionId=ANN) is None
    assert received(mux, method="A.c", params={}, sessionId=CHILD) is None
    assert forwarded(mux, bob, id=1, method="DOM.enable")["sessionId"] == BOB


def test_what_waits_in_a_session_that_ends_is_answered_after_the_event(mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient) -> None:
    attach(mux, CHILD, below=ANN)
    attach(mux, GRANDCHILD, below=CHILD)
    late = forwarded(mux, ann, id=7, method="DOM.enable", sessionId=CHILD)
    forwarded(mux, ann, id=8, method="DOM.enable", sessionId=GRANDCHILD)
    others = forwarded(mux, ann, id=9, method="DOM.enable"), forwarded(mux, bob, id=7, method="DOM.enable")
    event = {"method": "Target.detachedFromTarget", "params": {"sessionId": CHILD}}
    told = mux.from_browser(written(**event, sessionId=ANN))
    assert isinstance(told, ClientMessages)
    error = {"code": -32001, "message": "Session with given id not found."}
    assert told.peer is ann
    assert [json.loads(message) for message in told.messages] == [
        event,
        {"id": 7, "error": error, "sessionId": CHILD},
        {"id": 8, "error": error, "sessionId": GRANDCHILD},
    ]
    assert mux.from_browser(written(id=late["id"], error=error)) == OwnReply(late["id"], {"id": late["id"], "error": error})
    for other, peer in zip(others, (ann, bob), strict=True):
        assert received(mux, id=other["id"], result={}, sessionId=other["sessionId"]) is not None
        assert peer.pending == 0
    assert not mux.waiting


def test_what_waits_for_a_page_or_a_browser_that_is_gone_is_answered_once(
    mux: Multiplexer, ann: DevtoolsClient, bob: DevtoolsClient
) -> None:
    attach(mux, CHILD, below=ANN)
    forwarded(mux, ann, id=1, method="DOM.enable")
    forwarded(mux, ann, id=2, method="DOM.enable", sessionId=CHILD)
    his = forwarded(mux, bob, id=1, method="DOM.enable")
    error = {"code": -32000, "message": "Target closed"}
    assert [json.loads(message) for message in mux.lost(ann)] == [{"id": 1, "error": error}, {"id": 2, "error": error, "sessionId": CHILD}]
    assert mux.lost(ann) == []
    assert ann.pending == 0
    assert received(mux, id=his["id"], result={}, sessionId=BOB) == (bob, {"id": 1, "result": {}})


def test_the_end_of_a_base_ends_its_client(mux: Multiplexer, ann: DevtoolsClient) -> None:
    assert mux.from_browser(written(method="Target.detachedFromTarget", params={"sessionId": ANN})) == ClientEnded(ann)


def test_commands_and_events_of_our_own_reach_no_client(mux: Multiplexer, ann: DevtoolsClient) -> None:
    number, message = mux.command("Browser.getVersion", {})
    assert json.loads(message) == {"id": number, "method": "Browser.getVersion", "params": {}}
    assert mux.from_browser(written(id=number, result={"x": 1})) == OwnReply(number, {"id": number, "result": {"x": 1}})
    assert mux.from_browser(written(method="Target.targetCreated", params={"y": 2})) == BrowserEvent("Target.targetCreated", {"y": 2})


def test_an_error_without_a_session_still_finds_the_client_that_waits(mux: Multiplexer, ann: DevtoolsClient) -> None:
    command = forwarded(mux, ann, id=6, method="DOM.enable")
    error = {"code": -32001, "message": "Session with given id not found."}
    assert received(mux, id=command["id"], error=error) == (ann, {"id": 6, "error": error})
    assert ann.pending == 0


def test_a_client_that_sends_and_sends_is_held_to_a_bound(mux: Multiplexer, ann: DevtoolsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplexer, "MAX_PENDING", 2)
    first = forwarded(mux, ann, id=1, method="DOM.enable")
    forwarded(mux, ann, id=2, method="DOM.enable")
    assert "wait" in refused(mux, ann, id=3, method="DOM.enable")["error"]["message"]
    received(mux, id=first["id"], result={}, sessionId=ANN)
    forwarded(mux, ann, id=3, method="DOM.enable")


def test_a_message_that_chromium_would_choke_on_is_refused(mux: Multiplexer, ann: DevtoolsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplexer, "MAX_TO_BROWSER", 1000)
    assert "1000 bytes" in refused(mux, ann, id=1, method="DOM.enable", params={"x": "é" * 500})["error"]["message"]
    assert ann.pending == 0


def test_nonsense_is_answered_to_its_sender(mux: Multiplexer, ann: DevtoolsClient) -> None:
    effect = mux.from_peer(ann, "{")
    assert isinstance(effect, ClientMessage)
    assert json.loads(effect.message)["error"]["code"] == -32700


@pytest.mark.parametrize("method", ["Target.exposeDevToolsProtocol", "Target.sendMessageToTarget"])
def test_a_command_that_would_carry_others_unseen_is_refused(mux: Multiplexer, ann: DevtoolsClient, method: str) -> None:
    assert method in refused(mux, ann, id=1, method=method)["error"]["message"]


def test_a_caller_without_the_scope_may_send_nothing(mux: Multiplexer) -> None:
    viewer = mux.add(Caller("eve", frozenset({"view"})), ANN)
    assert "scope" in refused(mux, viewer, id=1, method="Browser.getVersion")["error"]["message"]


def test_what_a_client_holds_down_is_released_under_ids_of_ours_and_nobody_hears_of_it(mux: Multiplexer, ann: DevtoolsClient) -> None:
    forwarded(mux, ann, id=1, method="Input.dispatchKeyEvent", params={"type": "keyDown", "key": "a"})
    [release] = mux.releases(ann)
    sent = json.loads(release)
    assert (sent["method"], sent["params"], sent["sessionId"]) == ("Input.dispatchKeyEvent", {"type": "keyUp", "key": "a"}, ANN)
    assert mux.releases(ann) == []
    assert received(mux, id=sent["id"], result={}, sessionId=ANN) is None


def test_no_client_is_told_of_what_is_apart_nor_stays_attached_to_it(mux: Multiplexer, ann: DevtoolsClient) -> None:
    mux.hidden_targets.add(GRANDCHILD)
    info = {"targetId": "window", "browserContextId": GRANDCHILD, "url": "", "type": "page"}
    attached = {"sessionId": CHILD, "targetInfo": info, "waitingForDebugger": True}
    assert received(mux, method="Target.attachedToTarget", params=attached, sessionId=ANN) is None
    due = [json.loads(message) for message in mux.suspension.due()]
    assert [(each["method"], each["sessionId"]) for each in due] == [
        ("Runtime.runIfWaitingForDebugger", CHILD),
        ("Target.detachFromTarget", ANN),
    ]
    assert refused(mux, ann, id=1, method="Page.enable", sessionId=CHILD)["error"]["code"] == -32001
    assert received(mux, method="Page.loadEventFired", params={}, sessionId=CHILD) is None
    assert received(mux, method="Target.detachedFromTarget", params={"sessionId": CHILD, "targetId": "window"}, sessionId=ANN) is None
    for method in ("Target.attachToTarget", "Target.getTargetInfo", "Target.closeTarget", "Target.autoAttachRelated"):
        assert "No target" in refused(mux, ann, id=2, method=method, params={"targetId": "window"})["error"]["message"]
    assert "No target" in refused(mux, ann, id=3, method="Storage.getCookies", params={"browserContextId": GRANDCHILD})["error"]["message"]


def test_what_looks_after_pages_is_told_of_what_is_apart(mux: Multiplexer) -> None:
    browser_server = mux.add(OWNER, BOB)
    mux.hidden_targets.add(GRANDCHILD)
    attached = {"sessionId": CHILD, "targetInfo": {"targetId": "window", "browserContextId": GRANDCHILD, "url": "", "type": "page"}}
    found = received(mux, method="Target.attachedToTarget", params=attached, sessionId=BOB)
    assert found is not None
    assert found[0] is browser_server


def test_clients_hold_requests_up_in_the_sessions_of_targets_alone(mux: Multiplexer, ann: DevtoolsClient) -> None:
    info = {"targetId": "B", "type": "browser"}
    mux.from_browser(written(method="Target.attachedToTarget", params={"sessionId": "again", "targetInfo": info}, sessionId=ANN))
    page = mux.add(Caller("bob"), BOB, "PAGE")
    for session in ({}, {"sessionId": "again"}):
        refused = mux.from_peer(ann, written(id=1, method="Fetch.enable", params={}, **session))
        assert isinstance(refused, ClientMessage)
        assert "in the sessions of pages" in refused.message.decode()
    assert isinstance(mux.from_peer(page, written(id=1, method="Fetch.enable", params={})), ToBrowser)
    owner = mux.add(OWNER, "own")
    assert isinstance(mux.from_peer(owner, written(id=1, method="Fetch.enable", params={})), ToBrowser)


def test_while_rules_are_about_downloads_clients_choose_no_place_for_them() -> None:
    rules = ClientRules()
    mux = Multiplexer(rules)
    peer = mux.add(Caller("ann"), ANN)
    for method, context in (("Browser", {"browserContextId": "C", "eventsEnabled": True}), ("Page", {})):
        wanted = {"behavior": "allowAndName", "downloadPath": "/tmp/taken", **context}
        message = written(id=1, method=f"{method}.setDownloadBehavior", params=wanted)
        rules.keeps_downloads = lambda: False
        assert json.loads(mux.from_peer(peer, message).message)["params"] == wanted
        assert peer.overrides.take_off()
        mux.forget_downloads()
        assert peer.overrides.put_back() == []
        rules.keeps_downloads = lambda: True
        assert json.loads(mux.from_peer(peer, message).message)["params"] == {"behavior": "default", **context}
        assert peer.overrides.put_back() == []
    denies = written(id=1, method="Browser.setDownloadBehavior", params={"behavior": "deny"})
    assert json.loads(mux.from_peer(peer, denies).message)["params"] == {"behavior": "deny"}
