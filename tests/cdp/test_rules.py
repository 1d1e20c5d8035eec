"""What a client of the multiplexer may send."""

import pytest

from sandbox_server.cdp.rules import refusal
from sandbox_server.cdp.wire import Command
from sandbox_server.core.results import Caller


def command(method: str) -> Command:
    return Command(1, method, None, {"id": 1, "method": method})


@pytest.mark.parametrize("method", ["Page.navigate", "Target.attachToTarget", "Browser.close"])
def test_a_caller_with_the_scope_drives_the_browser(method: str) -> None:
    assert refusal(Caller("ann"), command(method)) is None


@pytest.mark.parametrize("scopes", [set(), {"view"}, {"control", "shell", "files", "code", "admin", "view"}])
def test_a_caller_without_the_scope_sends_nothing(scopes: set[str]) -> None:
    assert "browser" in (refusal(Caller("eve", frozenset(scopes)), command("Browser.getVersion")) or "")


@pytest.mark.parametrize("method", ["Target.exposeDevToolsProtocol", "Target.sendMessageToTarget"])
def test_nobody_sends_what_would_carry_commands_unseen(method: str) -> None:
    assert method in (refusal(Caller("ann"), command(method)) or "")
