"""Session resume: what a viewer had is held for its caller, for a while, and only of the latest viewers."""

import asyncio

import pytest

from sandbox_server.stream.plan.update_planner import UpdatePlanner
from sandbox_server.stream.resume import MAX_HELD, StreamSessions

pytestmark = pytest.mark.anyio


def left(sessions: StreamSessions, number: int, planner: UpdatePlanner | None = None) -> None:
    sessions.begin(number, "person", lambda: None)
    sessions.end(number, planner or UpdatePlanner())


async def test_who_comes_back_gets_what_it_had_and_nobody_gets_it_twice() -> None:
    sessions, planner = StreamSessions(), UpdatePlanner()
    left(sessions, 5, planner)
    assert await sessions.resume(5, "another") is None
    assert await sessions.resume(5, "person") is planner
    assert await sessions.resume(5, "person") is None


async def test_who_seems_to_be_there_still_has_to_go_first() -> None:
    sessions, planner, asked = StreamSessions(), UpdatePlanner(), asyncio.Event()
    sessions.begin(5, "person", asked.set)
    resuming = asyncio.create_task(sessions.resume(5, "person"))
    async with asyncio.timeout(30):
        await asked.wait()
        assert not resuming.done()
        sessions.end(5, planner)
        assert await resuming is planner


async def test_only_the_latest_are_kept() -> None:
    sessions = StreamSessions()
    for number in range(MAX_HELD + 1):
        left(sessions, number)
    assert await sessions.resume(0, "person") is None
    assert await sessions.resume(1, "person")
