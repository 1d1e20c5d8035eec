"""An open page of the wall: what it has in sight, and what it has not been told yet."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.people.questions import Question
from tandem_fleet.people.sandbox_watch import Driver
from tandem_fleet.sandboxes import State

TOGETHER_SECONDS = 0.25
"""Changes within that are told at once: a page that is slow is told what is, not what was."""
SILENT_SECONDS = 15.0


class Tile(BaseModel):
    """A sandbox as the wall shows it."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    state: State
    reason: str
    labels: dict[str, str]
    created_at: datetime
    driver: Driver | None = Field(description="Who drives; null where that is not known.")
    picture: str = Field(description="The newest picture's version; empty where there is none.")


class WallSnapshot(BaseModel):
    """All that the wall shows."""

    page: str = Field(description="What the page is called in PUT /v1/wall/sight.")
    tiles: list[Tile]
    queue: list[Question]


@dataclass(frozen=True)
class WallEvent:
    """Something to tell a page; without a name it is a sign of life."""

    name: str = ""
    data: Any = None


class Shown(Protocol):
    """Where a page reads what it is told."""

    def tile(self, sandbox: str) -> Tile | None:
        """A sandbox; None where it is gone."""

    def queue(self, session: str) -> list[Question]:
        """What is asked."""


@dataclass
class WallPage:
    """One page. What changed is noted, and read when it is told."""

    number: str
    session: str
    sight: frozenset[str] = frozenset()
    _tiles: set[str] = field(default_factory=set)
    _asked: bool = False
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def changed(self, sandbox: str) -> None:
        """Note that a tile changed."""
        self._tiles.add(sandbox)
        self._woken.set()

    def asked(self) -> None:
        """Note that the queue changed."""
        self._asked = True
        self._woken.set()

    async def news(self, shown: Shown) -> AsyncIterator[WallEvent]:
        """What changes, without end."""
        while True:
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                yield WallEvent()
                continue
            await asyncio.sleep(TOGETHER_SECONDS)
            self._woken.clear()
            tiles, self._tiles = self._tiles, set()
            asked, self._asked = self._asked, False
            for sandbox in sorted(tiles):
                tile = shown.tile(sandbox)
                yield WallEvent("tile", tile.model_dump(mode="json")) if tile else WallEvent("gone", {"id": sandbox})
            if asked:
                yield WallEvent("queue", [one.model_dump(mode="json") for one in shown.queue(self.session)])
