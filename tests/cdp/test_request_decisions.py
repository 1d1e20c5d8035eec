"""Questions about requests, over the API's connection."""

import asyncio
import json
from typing import Any

import pytest

from sandbox_server.cdp import request_decisions
from sandbox_server.cdp.request_decisions import RequestDecisions, TakeSubjects
from tests.patience import eventually

pytestmark = pytest.mark.anyio
QUESTION = {"subjects": ["navigation"], "url": "https://a.example/", "method": "GET"}


class Socket:
    """The API's end of a connection."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self._says: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def say(self, **told: Any) -> None:
        self._says.put_nowait({"type": "websocket.receive", "text": json.dumps(told)})

    def leave(self) -> None:
        self._says.put_nowait({"type": "websocket.disconnect"})

    async def receive(self) -> dict[str, Any]:
        return await self._says.get()

    async def send_text(self, text: str) -> None:
        self.heard.append(json.loads(text))


class Subjects:
    """Takes what rules are about."""

    def __init__(self) -> None:
        self.told: list[list[str]] = []

    async def __call__(self, subjects: frozenset[str]) -> None:
        self.told.append(sorted(subjects))


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> RequestDecisions:
    monkeypatch.setattr(request_decisions, "WITHOUT_API_SECONDS", 0.05)
    return RequestDecisions()


def served(decisions: RequestDecisions, socket: Socket, subjects: TakeSubjects | None = None) -> "asyncio.Task[None]":
    return asyncio.create_task(decisions.serve(socket, subjects or Subjects()))  # type: ignore[arg-type] # all that is used


async def test_each_question_gets_its_own_decision(decisions: RequestDecisions) -> None:
    socket = Socket()
    serving = served(decisions, socket)
    first, second = (asyncio.create_task(decisions.ask(QUESTION)) for _ in range(2))
    await eventually(lambda: len(socket.heard) == 2)
    assert socket.heard == [{"id": 1, **QUESTION}, {"id": 2, **QUESTION}]
    socket.say(id=2, admitted=True)
    socket.say(id=7, admitted=True)
    socket.say(id=1, admitted="yes")
    assert (await first, await second) == (False, True)
    socket.leave()
    await serving


async def test_a_change_is_acknowledged_once_it_holds_and_decisions_are_taken_meanwhile(decisions: RequestDecisions) -> None:
    socket, holds = Socket(), asyncio.Event()

    async def take(_: frozenset[str]) -> None:
        await holds.wait()

    serving = served(decisions, socket, take)
    socket.say(subjects=["submit"], change=3)
    asking = asyncio.create_task(decisions.ask(QUESTION))
    await eventually(lambda: socket.heard)
    socket.say(id=1, admitted=True)
    assert await asking
    assert socket.heard == [{"id": 1, **QUESTION}]
    holds.set()
    await eventually(lambda: socket.heard[1:] == [{"change": 3}])
    socket.leave()
    await serving


async def test_without_the_api_nothing_is_admitted(decisions: RequestDecisions) -> None:
    assert not await decisions.ask(QUESTION)
    socket = Socket()
    serving = served(decisions, socket)
    asking = asyncio.create_task(decisions.ask(QUESTION))
    await eventually(lambda: socket.heard)
    socket.leave()
    assert not await asking
    await serving
    assert not await decisions.ask(QUESTION)


async def test_a_request_waits_for_an_api_that_comes_back(decisions: RequestDecisions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_decisions, "WITHOUT_API_SECONDS", 30.0)
    asking = asyncio.create_task(decisions.ask(QUESTION))
    await asyncio.sleep(0)
    socket = Socket()
    serving = served(decisions, socket)
    await eventually(lambda: socket.heard)
    socket.say(id=1, admitted=True)
    assert await asking
    socket.leave()
    await serving


async def test_the_latest_connection_is_the_one_that_is_asked(decisions: RequestDecisions) -> None:
    old, new = Socket(), Socket()
    first = served(decisions, old)
    await asyncio.sleep(0)
    second = served(decisions, new)
    await asyncio.sleep(0)
    old.leave()
    await first
    asking = asyncio.create_task(decisions.ask(QUESTION))
    await eventually(lambda: new.heard)
    new.say(id=1, admitted=True)
    assert await asking
    new.leave()
    await second


async def test_a_question_that_nobody_waits_for_is_withdrawn(decisions: RequestDecisions) -> None:
    socket = Socket()
    serving = served(decisions, socket)
    asking = asyncio.create_task(decisions.ask(QUESTION))
    await eventually(lambda: socket.heard)
    asking.cancel()
    await eventually(lambda: socket.heard[1:] == [{"id": 1, "withdrawn": True}])
    socket.leave()
    await serving


async def test_a_flood_of_requests_is_refused_at_a_limit(decisions: RequestDecisions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_decisions, "MAX_ASKED", 3)
    socket = Socket()
    serving = served(decisions, socket)
    asking = [asyncio.create_task(decisions.ask(QUESTION)) for _ in range(5)]
    await eventually(lambda: len(socket.heard) == 3)
    assert [await each for each in asking[3:]] == [False, False]
    socket.leave()
    assert [await each for each in asking[:3]] == [False] * 3
    await serving


async def test_what_rules_are_about_is_taken(decisions: RequestDecisions) -> None:
    socket, subjects = Socket(), Subjects()
    serving = served(decisions, socket, subjects)
    socket.say(subjects=["submit", "navigation"])
    socket.say(subjects=[])
    await eventually(lambda: len(subjects.told) == 2)
    assert subjects.told == [["navigation", "submit"], []]
    socket.leave()
    await serving
