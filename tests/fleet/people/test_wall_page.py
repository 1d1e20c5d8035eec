"""An open page: told what is, not what was."""

import asyncio
from typing import Any

import pytest
from tandem_fleet.people import wall_page as module
from tandem_fleet.people.wall_page import WallPage

pytestmark = pytest.mark.anyio


class Nothing:
    """A wall on which all is gone."""

    def tile(self, sandbox: str) -> Any:
        """None is there."""
        return None

    def queue(self, session: str) -> list[Any]:
        """Nothing is asked."""
        return []


async def test_many_changes_are_told_as_one() -> None:
    page = WallPage("page", "session")
    for _ in range(1000):
        page.changed("one")
        page.asked()
    news = page.news(Nothing())
    async with asyncio.timeout(30):
        told = [await anext(news), await anext(news)]
    assert [(event.name, event.data) for event in told] == [("gone", {"id": "one"}), ("queue", [])]
    await news.aclose()  # type: ignore[attr-defined] # a generator


async def test_a_page_that_hears_nothing_hears_that_the_service_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.01)
    news = WallPage("page", "session").news(Nothing())
    async with asyncio.timeout(30):
        assert (await anext(news)).name == ""
    await news.aclose()  # type: ignore[attr-defined] # a generator
