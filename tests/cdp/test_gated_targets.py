"""Commands on targets that the gate is not ready for."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from sandbox_server.cdp import gated_targets
from sandbox_server.cdp.gated_targets import GatedTargets
from sandbox_server.cdp.messages import DevtoolsCommand

pytestmark = pytest.mark.anyio


def command(method: str, **params: object) -> DevtoolsCommand:
    return DevtoolsCommand(1, method, "s", {"params": params})


@pytest.fixture
def targets() -> GatedTargets:
    """With a session `s` on a target `t`, while there are rules."""
    made = GatedTargets()
    made.attached("s", "t", "page")
    made.begin()
    return made


@pytest.mark.parametrize("method", ["Page.navigate", "Runtime.evaluate", "Input.dispatchMouseEvent", "Fetch.enable", "No.such"])
def test_a_command_that_acts_waits_until_its_target_is_ready(targets: GatedTargets, method: str) -> None:
    assert targets.held("s", command(method)) == "t"
    targets.add("other")
    assert targets.held("s", command(method)) == "t"
    targets.add("t")
    assert targets.held("s", command(method)) is None
    targets.discard("t")
    assert targets.held("s", command(method)) == "t"


@pytest.mark.parametrize("method", ["Page.enable", "Target.setAutoAttach", "Target.createTarget", "Runtime.runIfWaitingForDebugger"])
def test_what_only_looks_or_opens_another_target_does_not_wait(targets: GatedTargets, method: str) -> None:
    assert targets.held("s", command(method)) is None


def test_sessions_on_no_page_do_not_wait(targets: GatedTargets) -> None:
    targets.attached("b", "whole", "browser")
    targets.attached("w", "strip", "tab")
    assert {targets.held(session, command("Page.navigate")) for session in ("b", "w", "unknown")} == {None}
    targets.forget("s")
    assert targets.held("s", command("Page.navigate")) is None


def test_without_rules_nothing_waits(targets: GatedTargets) -> None:
    targets.end()
    assert targets.held("s", command("Page.navigate")) is None


async def test_whoever_waits_goes_on_when_the_target_is_ready_or_there_are_no_rules(targets: GatedTargets) -> None:
    ways: list[Callable[[], None]] = [partial(targets.add, "t"), targets.end]
    for goes_on in ways:
        targets.begin()
        waiting = asyncio.create_task(targets.until_ready("t"))
        await asyncio.sleep(0)
        assert not waiting.done()
        goes_on()
        await waiting
        assert not targets.lacks("t")


async def test_nobody_waits_for_ever(targets: GatedTargets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gated_targets, "HOLD_SECONDS", 0.01)
    await targets.until_ready("t")
    assert targets.lacks("t")
