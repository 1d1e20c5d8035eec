"""What a client of the multiplexer may send."""

import pytest

from sandbox_server.cdp.rules import OWN, Rules
from sandbox_server.cdp.wire import Command
from sandbox_server.core.control import Holding
from sandbox_server.core.results import ALL_SCOPES, Caller

HELD = Holding(5, "human", "ann", frozenset({"gui", "cdp"}))


def command(method: str) -> Command:
    return Command(1, method, None, {"id": 1, "method": method})


def refusal(caller: Caller, method: str, holding: Holding | None = None) -> str | None:
    return Rules(holding).refusal(caller, command(method))


@pytest.mark.parametrize("method", ["Page.navigate", "Target.attachToTarget", "Browser.close"])
def test_a_caller_with_the_scope_drives_the_browser(method: str) -> None:
    assert refusal(Caller("ann"), method) is None


@pytest.mark.parametrize("scopes", [set(), {"view"}, {"control", "shell", "files", "code", "admin", "view"}])
def test_a_caller_without_the_scope_sends_nothing(scopes: set[str]) -> None:
    assert "browser" in (refusal(Caller("eve", frozenset(scopes)), "Browser.getVersion") or "")


@pytest.mark.parametrize("method", ["Target.exposeDevToolsProtocol", "Target.sendMessageToTarget"])
def test_nobody_sends_what_would_carry_commands_unseen(method: str) -> None:
    assert method in (refusal(Caller("ann"), method) or "")


def test_while_a_person_holds_the_pages_others_look_and_do_not_act() -> None:
    refused = refusal(Caller("key"), "Page.navigate", HELD)
    assert refused == "held_by_human: ann has control: nothing was done (epoch 5)"
    assert refusal(Caller("key"), "Page.captureScreenshot", HELD) is None
    assert refusal(Caller("ann", person=True), "Page.navigate", HELD) is None
    assert refusal(Caller("ann"), "Page.navigate", HELD) is not None


def test_who_holds_the_shell_leaves_the_pages() -> None:
    assert refusal(Caller("key"), "Page.navigate", Holding(5, "human", "ann", frozenset({"shell"}))) is None


def test_what_our_own_clients_do_was_judged_where_it_was_asked_for() -> None:
    assert refusal(Caller("api", frozenset({"browser", OWN})), "Page.navigate", HELD) is None
    assert OWN not in ALL_SCOPES, "nobody is given it"
