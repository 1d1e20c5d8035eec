"""The live connection to one browser process, against a pipe whose other end these tests hold."""

import json
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from sandbox_server.cdp.browser_connection import BrowserLink, CommandRefused
from sandbox_server.cdp.devtools_clients import BrowserEvent
from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.core.identity import Caller

pytestmark = pytest.mark.anyio

ANN = Caller("ann")
SESSION = "A" * 32


class Browser:
    """The other end: answers each command by the given function, and keeps what it was asked."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
        self.reads, self.ours_out = os.pipe()
        self.ours_in, self.writes = os.pipe()
        self.asked: list[dict[str, Any]] = []
        self._answer = answer

    def say(self, **message: Any) -> None:
        os.write(self.writes, json.dumps(message, separators=(",", ":")).encode() + b"\0")

    async def run(self) -> None:
        while chunk := await anyio.to_thread.run_sync(os.read, self.reads, 1 << 16):
            for message in chunk.split(b"\0")[:-1]:
                command = json.loads(message)
                self.asked.append(command)
                if reply := self._answer(command):
                    self.say(id=command["id"], **reply, **({"sessionId": command["sessionId"]} if "sessionId" in command else {}))
        os.close(self.writes)
        os.close(self.reads)


def answer(command: dict[str, Any]) -> dict[str, Any] | None:
    match command["method"]:
        case "Page.stopLoading":
            return None
        case "Target.attachToTarget" if command["params"]["targetId"] == "SLOW":
            return None
        case "Target.attachToTarget" if command["params"]["targetId"] == "GONE":
            return {"error": {"code": -32602, "message": "No target with given id found"}}
        case "Target.attachToBrowserTarget" | "Target.attachToTarget":
            return {"result": {"sessionId": SESSION}}
        case "Bad.command":
            return {"error": {"code": -32601, "message": "not found"}}
        case method:
            return {"result": {"did": method}}


class Wire:
    """A link with the browser at its other end."""

    def __init__(self) -> None:
        self.notices: list[BrowserEvent] = []
        self.browser = Browser(answer)
        self.link = BrowserLink(self.notices.append)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    wire = Wire()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            await wire.link.open(wire.browser.ours_in, wire.browser.ours_out)
            tasks.start_soon(wire.browser.run)
            yield wire
            wire.link.close("the test is over")


async def test_a_command_of_ours_is_answered(wire: Wire) -> None:
    assert await wire.link.command("Browser.getVersion", depth=3) == {"did": "Browser.getVersion"}
    assert wire.browser.asked[0]["params"] == {"depth": 3}


async def test_a_command_of_ours_for_a_clients_session_is_answered_to_us_alone(wire: Wire) -> None:
    _, outbox = await wire.link.attach(ANN, None)
    assert await wire.link.command("Page.look", session=SESSION) == {"did": "Page.look"}
    assert wire.browser.asked[-1]["sessionId"] == SESSION
    wire.link.close("the test is over")
    assert await outbox.get() is None


async def test_a_command_that_is_refused_says_why(wire: Wire) -> None:
    with pytest.raises(CommandRefused, match="not found"):
        await wire.link.command("Bad.command")


async def test_a_command_that_is_never_answered_is_given_up(wire: Wire) -> None:
    with pytest.raises(Unavailable, match=r"Page\.stopLoading"):
        await wire.link.command("Page.stopLoading", timeout=0.05)


async def test_a_client_gets_a_session_and_loses_it_when_it_goes(wire: Wire) -> None:
    peer, outbox = await wire.link.attach(ANN, None)
    wire.link.send(peer, '{"id":5,"method":"Page.enable"}')
    assert json.loads(await outbox.get() or b"") == {"id": 5, "result": {"did": "Page.enable"}}
    wire.link.detach(peer)
    wire.link.detach(peer)
    await wire.link.command("Browser.getVersion")
    assert [asked["method"] for asked in wire.browser.asked].count("Target.detachFromTarget") == 1
    assert wire.browser.asked[-2]["params"] == {"sessionId": SESSION}


async def test_a_page_that_does_not_exist_is_named(wire: Wire) -> None:
    with pytest.raises(NotFound, match="GONE"):
        await wire.link.attach(ANN, "GONE")


async def test_a_client_whose_page_ends_right_after_it_came_is_told(wire: Wire) -> None:
    _, outbox = await wire.link.attach(ANN, "PAGE")
    wire.browser.say(method="Target.detachedFromTarget", params={"sessionId": SESSION})
    assert await outbox.get() is None
    assert outbox.closed == "the page was closed"


async def test_a_page_that_ends_answers_what_its_client_waits_for(wire: Wire) -> None:
    peer, outbox = await wire.link.attach(ANN, "PAGE")
    wire.link.send(peer, '{"id":5,"method":"Page.stopLoading"}')
    wire.browser.say(method="Target.detachedFromTarget", params={"sessionId": SESSION})
    assert json.loads(await outbox.get() or b"") == {"id": 5, "error": {"code": -32000, "message": "Target closed"}}
    assert await outbox.get() is None


async def test_a_client_that_goes_and_a_command_given_up_leave_nobody_waiting(wire: Wire) -> None:
    peer, _ = await wire.link.attach(ANN, None)
    wire.link.send(peer, '{"id":5,"method":"Page.stopLoading"}')
    for session in (None, SESSION):
        with pytest.raises(Unavailable):
            await wire.link.command("Page.stopLoading", timeout=0, session=session)
    assert wire.link.unanswered
    wire.link.detach(peer)
    assert not wire.link.unanswered


async def test_a_session_that_comes_when_nobody_waits_for_it_any_more_is_ended(wire: Wire) -> None:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.link.attach, ANN, "SLOW")
            while not wire.browser.asked:
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    assert not wire.link.unanswered
    [asked] = wire.browser.asked
    wire.browser.say(id=asked["id"], result={"sessionId": SESSION})
    while wire.browser.asked[-1]["method"] != "Target.detachFromTarget":
        await anyio.lowlevel.checkpoint()
    assert wire.browser.asked[-1]["params"] == {"sessionId": SESSION}


async def test_an_event_of_ours_reaches_us(wire: Wire) -> None:
    wire.browser.say(method="Target.targetCreated", params={"x": 1})
    while not wire.notices:
        await anyio.lowlevel.checkpoint()
    assert wire.notices == [BrowserEvent("Target.targetCreated", {"x": 1})]


async def test_the_end_of_the_browser_ends_clients_and_commands_at_once(wire: Wire) -> None:
    peer, outbox = await wire.link.attach(ANN, None)
    wire.link.send(peer, '{"id":5,"method":"Page.stopLoading"}')

    async def wait_in_vain() -> None:
        with pytest.raises(Unavailable, match="over"):
            await wire.link.command("Page.stopLoading")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_in_vain)
        await anyio.wait_all_tasks_blocked()
        wire.link.close("it is over")
    await wire.link.ended()
    assert json.loads(await outbox.get() or b"") == {"id": 5, "error": {"code": -32000, "message": "Target closed"}}
    assert await outbox.get() is None
    assert not wire.link.unanswered
    with pytest.raises(Unavailable, match="over"):
        await wire.link.command("Browser.getVersion")
