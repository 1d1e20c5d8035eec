"""What a client in a lane may send, without a browser."""

from typing import Any

import orjson
import pytest

from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.hidden_targets import UNKNOWN, HiddenTargets
from sandbox_server.cdp.lane_rules import ANYWHERE, IN_PAGES, OF_CONTEXT, in_lane, outside, seen
from sandbox_server.cdp.messages import BrowserMessage, DevtoolsCommand
from sandbox_server.cdp.methods import effect_of
from sandbox_server.core.identity import Caller

LANE, OTHER, BASE, PAGE = "L" * 32, "O" * 32, "B" * 32, "P" * 32


@pytest.fixture
def hidden() -> HiddenTargets:
    found = HiddenTargets()
    for context in (LANE, OTHER):
        found.add_lane(context)
        found.has({"targetId": f"page of {context[0]}", "browserContextId": context})
    return found


@pytest.fixture
def ann() -> DevtoolsClient:
    return DevtoolsClient(Caller("ann"), BASE, LANE, sessions={BASE: None, PAGE: BASE}, whole={BASE})


def sent(method: str, session: str | None = None, **params: Any) -> DevtoolsCommand:
    return DevtoolsCommand(1, method, session, {"id": 1, "method": method, "params": params})


def test_every_method_that_is_named_is_one_that_clients_may_send() -> None:
    assert {method: effect_of(method) for method in ANYWHERE if effect_of(method) in (None, "refused", "extends")} == {}
    assert not IN_PAGES & {"Browser", "Target", "Storage", "Tracing", "SystemInfo", "Memory", "Extensions", "Security"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (sent("Page.navigate", PAGE, url="about:blank"), None),
        (sent("Page.navigate", url="about:blank"), "whole browser"),
        (sent("Browser.close", PAGE), "whole browser"),
        (sent("Future.method", PAGE), "whole browser"),
        (sent("Security.setIgnoreCertificateErrors", PAGE, ignore=True), None),
        (sent("Security.setIgnoreCertificateErrors", ignore=True), "whole browser"),
        (sent("Storage.getCookies", browserContextId=LANE), None),
        (sent("Storage.getCookies", browserContextId=OTHER), "browser context"),
        (sent("Storage.getCookies", browserContextId=None), "browser context"),
        (sent("Target.closeTarget", targetId="page of L"), None),
        (sent("Target.closeTarget", targetId="page of O"), UNKNOWN),
        (sent("Target.closeTarget", targetId="page of main"), UNKNOWN),
        (sent("Target.closeTarget", targetId=["page of L"]), UNKNOWN),
        (sent("Browser.setWindowBounds", windowId=7), None),
        (sent("Browser.setWindowBounds", windowId=8), "window"),
        (sent("Browser.setWindowBounds"), "window"),
    ],
)
def test_a_command_stays_in_the_lane_or_is_refused(
    ann: DevtoolsClient, hidden: HiddenTargets, command: DevtoolsCommand, reason: str | None
) -> None:
    ann.windows.add(7)
    found = outside(ann, command, hidden)
    assert (found is None) if reason is None else (found is not None and reason in found)


def test_a_client_in_no_lane_may_name_what_is_of_none(hidden: HiddenTargets) -> None:
    bob = DevtoolsClient(Caller("bob"), BASE)
    assert outside(bob, sent("Browser.close"), hidden) is None
    assert outside(bob, sent("Target.closeTarget", targetId="page of main"), hidden) is None
    assert outside(bob, sent("Target.closeTarget", targetId="page of L"), hidden) == UNKNOWN
    assert outside(DevtoolsClient(OWNER, BASE), sent("Target.closeTarget", targetId="page of L"), hidden) is None


@pytest.mark.parametrize("method", sorted(OF_CONTEXT))
def test_what_is_of_a_context_gets_the_lanes(ann: DevtoolsClient, method: str) -> None:
    assert in_lane(ann, sent(method, url="x")).parsed["params"] == {"url": "x", "browserContextId": LANE}
    bare = DevtoolsCommand(1, method, None, {"id": 1, "method": method})
    assert in_lane(ann, bare).parsed["params"] == {"browserContextId": LANE}
    assert in_lane(DevtoolsClient(Caller("bob"), BASE), bare) is bare


def test_a_window_that_the_browser_tells_of_is_the_clients(ann: DevtoolsClient, hidden: HiddenTargets) -> None:
    for body in ({"result": {"windowId": 7, "bounds": {}}}, {"error": {"message": "none"}}):
        seen(ann, "Browser.getWindowForTarget", BrowserMessage(1, BASE, orjson.dumps({"id": 1, **body, "sessionId": BASE})), hidden)
    assert ann.windows == {7}


def test_a_list_holds_what_is_of_the_lane(ann: DevtoolsClient, hidden: HiddenTargets) -> None:
    infos = [{"targetId": "page of L", "browserContextId": LANE}, {"targetId": "page of main", "browserContextId": "M"}]
    listed = BrowserMessage(1, BASE, orjson.dumps({"id": 1, "result": {"targetInfos": infos}, "sessionId": BASE}))
    assert orjson.loads(seen(ann, "Target.getTargets", listed, hidden).message)["result"]["targetInfos"] == infos[:1]
    assert seen(DevtoolsClient(OWNER, BASE), "Target.getTargets", listed, hidden) is listed
