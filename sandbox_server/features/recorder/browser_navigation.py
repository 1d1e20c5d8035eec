"""Where the browser goes: tabs that are opened, closed and lead elsewhere, whoever did it."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core import Tasks, Unavailable
from sandbox_server.core.control import Holding
from sandbox_server.drivers.recorder.journal import ActorType, Journal
from sandbox_server.drivers.recorder.redaction import Redaction

AGAIN_SECONDS = 1.0
UNKNOWN = "unknown"
"""The agent's name where no call told it: a DevTools client, or the page itself."""


class PageAddresses(Protocol):
    """What tells of the browser's pages."""

    async def pages(self, state: str) -> tuple[str, dict[str, str]]: ...


@dataclass(frozen=True, slots=True)
class TabMove:
    """A tab that leads elsewhere; `was` None was opened, `now` None was closed."""

    was: str | None
    now: str | None


def moves(before: dict[str, str], after: dict[str, str]) -> Iterator[TabMove]:
    """What became of each tab."""
    for page in [*before, *(page for page in after if page not in before)]:
        if before.get(page) != after.get(page):
            yield TabMove(before.get(page), after.get(page))


class NavigationEntries:
    """Follows the tabs, and writes down what becomes of them; an asynchronous context manager.

    Who did it is the person who holds the pages, else the agent that acted on them last.
    """

    def __init__(self, journal: Journal, pages: PageAddresses, holding: Callable[[], Holding], redaction: Redaction) -> None:
        self._journal = journal
        self._pages = pages
        self._holding = holding
        self._redaction = redaction
        self._agent = UNKNOWN
        self.tabs: dict[str, str] = {}
        """The address of every tab, by the id of its page."""
        self._tasks = Tasks()
        journal.listen(self._hear)

    async def __aenter__(self) -> Self:
        self._tasks.start(self._follow(), name="where the browser goes, for the recorder")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def _hear(self, entry: dict[str, Any]) -> None:
        if entry["kind"] == "input" and entry["actor"]["type"] == "agent":
            self._agent = entry["actor"]["name"]

    async def _follow(self) -> None:
        state = ""
        while True:
            try:
                state, pages = await self._pages.pages(state)
            except Unavailable:  # the browser's process starts anew
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            before, self.tabs = self.tabs, pages
            for move in moves(before, pages):
                self._write(move)

    def _write(self, move: TabMove) -> None:
        if not self._journal.private():
            event = "opened" if move.was is None else "closed" if move.now is None else "moved"
            self._journal.record("navigation", *self._actor(), event=event, was=self._shown(move.was), now=self._shown(move.now))

    def _shown(self, url: str | None) -> str | None:
        return None if url is None else self._redaction.url(url)

    def _actor(self) -> tuple[ActorType, str]:
        holding = self._holding()
        if holding.state == "human" and holding.reach & {"gui", "cdp"}:
            return "person", holding.holder or ""
        return "agent", self._agent
