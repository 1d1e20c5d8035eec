import asyncio
from collections.abc import Callable

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.features.handoff import chat_connection

pytestmark = pytest.mark.anyio


async def pauses_of(ends: list[str], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between connections that end so: `fails`, `serves` and then fails, or asks for a `new` one."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def paused(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    async def serve(connected: Callable[[], None]) -> None:
        end = ends.pop(0)
        if not ends:
            raise asyncio.CancelledError
        if end != "fails":
            connected()
        if end != "new":
            raise Unavailable("away")

    monkeypatch.setattr(asyncio, "sleep", paused)
    with pytest.raises(asyncio.CancelledError):
        await chat_connection.keep_connected("Chat", serve)
    return pauses


async def test_each_failure_doubles_the_pause_and_a_connection_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = ["fails", "fails", "fails", "serves", "new", "end"]
    assert await pauses_of(ends, monkeypatch) == [1, 2, 4, 1, 1]


async def test_a_pause_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(await pauses_of(["fails"] * 20, monkeypatch)) == chat_connection.PAUSES[1]
