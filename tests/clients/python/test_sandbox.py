import asyncio
from typing import Any

import httpx
import pytest
from tandem import AsyncSandbox, Sandbox, engine, wire
from tandem._async import sandbox as module
from tandem.errors import PermissionDenied, Unreachable

from tests.clients.python.conftest import Server

pytestmark = pytest.mark.anyio


def handoff(**more: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "id": "h-1",
        "kind": "confirm",
        "reason": "r",
        "instructions": "",
        "choices": [],
        "fields": [],
        "on_timeout": "give_up",
    }
    known |= {
        "asked_by": "agent",
        "created_at": 1.0,
        "deadline_at": 2.0,
        "status": "open",
        "note": "",
        "values": {},
        "url": None,
        "region": None,
    }
    return {**known, "dropped": [], "deliveries": [], **more}


@pytest.fixture
def box(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncSandbox:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)
    made = AsyncSandbox("http://box", "key")
    made._connection._http = httpx.AsyncClient(base_url="http://box", transport=httpx.MockTransport(server.take))
    return made


async def test_a_question_is_asked_once_and_waited_for_over_a_restart(box: AsyncSandbox, server: Server) -> None:
    server.then(200, handoff()).then(200, handoff()).fail(httpx.ConnectError("away")).then(
        200, handoff(status="closed", outcome="done", choice="a")
    )
    answer = await box.ask("Which?", kind="choice", choices=["a", "b"], timeout=60)
    assert (answer.outcome, answer.choice) == ("done", "a")
    assert server.body(0)["choices"] == ["a", "b"]
    assert [request.method for request in server.asked] == ["POST", "GET", "GET", "GET"]


async def test_a_question_that_nobody_waits_for_is_withdrawn(box: AsyncSandbox, server: Server) -> None:
    server.then(200, handoff())
    waiting = asyncio.Event()

    async def never(*_: Any, **__: Any) -> Any:
        waiting.set()
        await asyncio.Event().wait()

    box._looked = never  # type: ignore[method-assign]
    server.then(200, handoff(status="closed", outcome="cancelled"))
    asking = asyncio.ensure_future(box.ask("?"))
    await asyncio.wait_for(waiting.wait(), 30)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (server.asked[-1].method, server.asked[-1].url.path) == ("DELETE", "/v1/handoffs/h-1")


async def test_a_sandbox_that_stays_away_is_given_up(box: AsyncSandbox, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "AWAY_SECONDS", 0.0)
    server.then(200, handoff()).fail(httpx.ConnectError("away")).fail(httpx.ConnectError("away"))
    with pytest.raises(Unreachable):
        await box.ask("?")


async def test_it_is_ready_when_it_answers_and_a_wrong_key_is_no_reason_to_wait(box: AsyncSandbox, server: Server) -> None:
    server.fail(httpx.ConnectError("refused")).then(502).then(200)
    await box.wait_ready(30)
    server.then(401, None, message="who are you?")
    with pytest.raises(PermissionDenied):
        await box.wait_ready(30)
    server.fail(httpx.ConnectError("refused"))
    with pytest.raises(TimeoutError, match="was not ready within 0 s"):
        await box.wait_ready(0)


def test_one_that_does_not_come_up_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[engine.Started] = []
    started = engine.Started("http://127.0.0.1:1", "k", "container-1")
    monkeypatch.setattr(engine, "start_container", lambda *_: started)
    monkeypatch.setattr(engine, "remove", removed.append)
    with pytest.raises(TimeoutError):
        Sandbox.start(timeout=0)
    assert removed == [started]


async def test_links_pictures_and_what_happens(box: AsyncSandbox, server: Server) -> None:
    server.answers += [httpx.Response(200, json={"ticket": "t", "expires_in": 60}), httpx.Response(200, content=b"png")]
    assert await box.view_url() == "http://box/view?ticket=t"
    assert await box.screenshot() == b"png"
    server.events("event: control", "data: {}", "")
    async for event in box.events():
        assert event.name == "control"
        break
    assert repr(box) == "AsyncSandbox('http://box')"
    assert box.checkpoint("x")._label == "x"
