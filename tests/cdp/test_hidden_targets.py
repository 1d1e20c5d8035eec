"""Contexts that no client sees."""

import json
from typing import Any

import pytest

from sandbox_server.cdp import hidden_targets
from sandbox_server.cdp.hidden_targets import HiddenTargets
from sandbox_server.cdp.messages import BrowserMessage

HERS, THEIRS = "H" * 32, "T" * 32
WINDOW, TAB = {"targetId": "W", "browserContextId": HERS}, {"targetId": "B", "browserContextId": THEIRS}


@pytest.fixture
def kept() -> HiddenTargets:
    found = HiddenTargets()
    found.add(HERS)
    return found


def arrived(number: int | None = None, **message: Any) -> BrowserMessage:
    return BrowserMessage(number, "S" * 32, json.dumps(message, separators=(",", ":")).encode())


def test_events_of_a_target_are_known_by_its_context_and_then_by_its_id(kept: HiddenTargets) -> None:
    destroyed = arrived(method="Target.targetDestroyed", params={"targetId": "W"})
    assert kept.event(destroyed) is None, "nothing was told of it"
    assert kept.event(arrived(method="Target.targetCreated", params={"targetInfo": WINDOW}))
    assert kept.event(destroyed)
    assert kept.event(arrived(method="Target.targetCreated", params={"targetInfo": TAB})) is None
    assert kept.event(arrived(method="Page.loadEventFired", params={"timestamp": 1})) is None


def test_lists_leave_them_out(kept: HiddenTargets) -> None:
    reply = kept.reply("Target.getTargets", arrived(1, id=1, result={"targetInfos": [WINDOW, TAB]}, sessionId="S" * 32))
    assert json.loads(reply.message)["result"] == {"targetInfos": [TAB]}
    assert reply.message.endswith(b',"sessionId":"' + b"S" * 32 + b'"}'), "a message is routed by its end"
    assert kept.without({"browserContextIds": [HERS, THEIRS], "defaultBrowserContextId": THEIRS})["browserContextIds"] == [THEIRS]


def test_a_command_names_them_in_whatever_parameter(kept: HiddenTargets) -> None:
    assert kept.has(WINDOW)
    assert kept.named({"targetId": "W"})
    assert kept.named({"frameId": "W"})
    assert kept.named({"url": "about:blank", "browserContextId": HERS})
    assert not any(kept.named(params) for params in ({"targetId": "B"}, {"targetId": ["W"]}, None, ["W"], {}))


def test_so_many_targets_are_remembered(kept: HiddenTargets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_targets, "MAX_TARGETS", 2)
    for name in "abc":
        kept.has({"targetId": name, "browserContextId": HERS})
    assert [kept.knows(name) for name in "abc"] == [False, True, True]


def test_a_lane_is_all_that_its_clients_see_and_nobody_else_does(kept: HiddenTargets) -> None:
    lane = "L" * 32
    kept.add_lane(lane)
    mine = {"targetId": "M", "browserContextId": lane}
    assert (kept.has(mine), kept.has(mine, lane)) == (True, False)
    assert [kept.has(info, lane) for info in (WINDOW, TAB)] == [True, True]
    assert [kept.knows(target, lane) for target in ("M", "W", "B", None)] == [False, True, True, True]
    assert kept.knows("M")
    ended = [arrived(method="Target.targetDestroyed", params={"targetId": target}) for target in ("M", "W", "B")]
    assert [kept.event(event, lane) is None for event in ended] == [True, False, False]
    assert [kept.event(event) is None for event in ended] == [False, False, True]
    contexts = {"browserContextIds": [HERS, THEIRS, lane], "defaultBrowserContextId": THEIRS}
    assert kept.without(contexts, lane) == {"browserContextIds": [lane], "defaultBrowserContextId": lane}
    assert kept.without(contexts)["browserContextIds"] == [THEIRS]
    assert kept.of_clients([HERS, THEIRS, lane]) == [THEIRS, lane]
