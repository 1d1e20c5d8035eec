"""Where the browser goes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.core.control import Holding
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder import browser_navigation
from sandbox_server.features.recorder.browser_navigation import NavigationEntries, TabMove, moves
from tests.patience import eventually

pytestmark = pytest.mark.anyio

A, B = "https://a.example/?q=secret", "https://b.example/"


class Pages:
    """The browser's pages, as a test sets them; None is a process that is not there."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[dict[str, str] | None] = asyncio.Queue()

    async def pages(self, state: str) -> tuple[str, dict[str, str]]:
        found = await self.told.get()
        if found is None:
            raise Unavailable("it is not there")
        return f"{state}.", found


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(EventLog(str(tmp_path), 1 << 20)) as opened:
        yield opened


async def gone(journal: Journal, count: int) -> list[tuple[Any, ...]]:
    async def look() -> list[dict[str, Any]] | None:
        found = await journal.read(None, lambda entry: entry["kind"] == "navigation", 20)
        return found if len(found) >= count else None

    return [
        (entry["event"], entry["actor"]["type"], entry["actor"]["name"], entry["was"], entry["now"]) for entry in await eventually(look)
    ]


def test_tabs_are_compared_by_their_pages() -> None:
    assert list(moves({"1": A, "2": B}, {"2": A, "3": B})) == [TabMove(A, None), TabMove(B, A), TabMove(None, B)]
    assert list(moves({"1": A}, {"1": A})) == []


async def test_what_becomes_of_tabs_is_told_with_who_did_it(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_navigation, "AGAIN_SECONDS", 0.01)
    pages, holding = Pages(), [Holding()]
    async with NavigationEntries(journal, pages, lambda: holding[0], Redaction()):
        journal.record("input", "agent", "robot")
        pages.told.put_nowait({"1": A})
        assert await gone(journal, 1) == [("opened", "agent", "robot", None, "https://a.example/?q=…")]
        holding[0] = Holding(2, "human", "ann", frozenset({"gui"}))
        pages.told.put_nowait(None)
        pages.told.put_nowait({"1": B})
        pages.told.put_nowait({})
        found = await gone(journal, 3)
    assert found[1:] == [
        ("moved", "person", "ann", "https://a.example/?q=…", B),
        ("closed", "person", "ann", B, None),
    ]


async def test_nothing_is_told_in_private_but_the_tabs_are_known(journal: Journal) -> None:
    journal.private = lambda: True
    pages = Pages()
    async with NavigationEntries(journal, pages, Holding, Redaction()) as entries:
        pages.told.put_nowait({"1": A})
        await eventually(lambda: entries.tabs == {"1": A})
    assert await journal.read(None, lambda entry: entry["kind"] == "navigation", 20) == []
