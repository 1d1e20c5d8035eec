"""Everything new is set up before it runs; what is not ours is let go. With a real browser in test_devtools.py."""

from typing import Any

import pytest

from sandbox_server.drivers.devtools.targets import DevtoolsTarget, DevtoolsTargets

pytestmark = pytest.mark.anyio


class Wire:
    """Writes commands down."""

    def __init__(self) -> None:
        self.posted: list[tuple[str | None, str]] = []

    async def command(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"defaultBrowserContextId": "own"} if method == "Target.getBrowserContexts" else {}

    def post(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> None:
        self.posted.append((session or (params or {}).get("sessionId"), method))


def attached(session: str, target: str, kind: str = "page", context: str = "own") -> dict[str, Any]:
    return {"sessionId": session, "targetInfo": {"targetId": target, "type": kind, "browserContextId": context}}


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def targets(wire: Wire) -> DevtoolsTargets:
    made = DevtoolsTargets(lambda target: [("Network.enable", {})])
    await made.follow(wire)  # type: ignore[arg-type] # all that is used
    return made


async def test_a_new_page_is_set_up_and_then_runs(targets: DevtoolsTargets, wire: Wire) -> None:
    targets.take(None, "Target.attachedToTarget", attached("s", "t"))
    assert wire.posted == [("s", "Network.enable"), ("s", "Target.setAutoAttach"), ("s", "Runtime.runIfWaitingForDebugger")]
    assert list(targets) == [DevtoolsTarget("s", "t", "page", "t")]


async def test_what_a_page_holds_is_of_the_page(targets: DevtoolsTargets) -> None:
    targets.take(None, "Target.attachedToTarget", attached("s", "t"))
    targets.take("s", "Target.attachedToTarget", attached("f", "frame", "iframe"))
    targets.take("f", "Target.attachedToTarget", attached("w", "worker", "worker"))
    assert [target.page for target in targets] == ["t", "t", "t"]


@pytest.mark.parametrize("stranger", [attached("s", "t", context="other"), attached("s", "t", kind="browser")])
async def test_what_is_not_ours_runs_and_is_let_go(targets: DevtoolsTargets, wire: Wire, stranger: dict[str, Any]) -> None:
    targets.take(None, "Target.attachedToTarget", stranger)
    assert wire.posted == [("s", "Runtime.runIfWaitingForDebugger"), ("s", "Target.detachFromTarget")]
    assert list(targets) == []


async def test_a_hidden_page_is_let_go_whether_or_not_it_was_seen_yet(targets: DevtoolsTargets, wire: Wire) -> None:
    targets.take(None, "Target.attachedToTarget", attached("s", "t"))
    targets.hide("t")
    targets.take(None, "Target.attachedToTarget", attached("again", "t"))
    assert list(targets) == []
    assert wire.posted[-1] == ("again", "Target.detachFromTarget")


async def test_what_is_gone_is_told_once(targets: DevtoolsTargets) -> None:
    targets.take(None, "Target.attachedToTarget", attached("s", "t"))
    gone = targets.take(None, "Target.detachedFromTarget", {"sessionId": "s"})
    assert (gone, targets.get("s"), targets.take(None, "Target.detachedFromTarget", {"sessionId": "s"})) == (
        DevtoolsTarget("s", "t", "page", "t"),
        None,
        None,
    )
