"""What viewers had that went: kept for who it was, for a while, and only of the latest."""

import asyncio

import pytest

from sandbox_server.stream.sessions import MAX_LEFT, Sessions
from sandbox_server.stream.view import View

pytestmark = pytest.mark.anyio


def left(sessions: Sessions, number: int, view: View | None = None) -> None:
    sessions.begin(number, "person", lambda: None)
    sessions.end(number, view or View())


async def test_who_comes_back_gets_what_it_had_and_nobody_gets_it_twice() -> None:
    sessions, view = Sessions(), View()
    left(sessions, 5, view)
    assert await sessions.resume(5, "another") is None
    assert await sessions.resume(5, "person") is view
    assert await sessions.resume(5, "person") is None


async def test_who_seems_to_be_there_still_has_to_go_first() -> None:
    sessions, view, asked = Sessions(), View(), asyncio.Event()
    sessions.begin(5, "person", asked.set)
    resuming = asyncio.create_task(sessions.resume(5, "person"))
    async with asyncio.timeout(30):
        await asked.wait()
        assert not resuming.done()
        sessions.end(5, view)
        assert await resuming is view


async def test_only_the_latest_are_kept() -> None:
    sessions = Sessions()
    for number in range(MAX_LEFT + 1):
        left(sessions, number)
    assert await sessions.resume(0, "person") is None
    assert await sessions.resume(1, "person")
