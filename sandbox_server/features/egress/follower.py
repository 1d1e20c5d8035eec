"""Follows the egress process: it is told what holds whenever it comes, and its events go to everybody who wants them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.drivers.egress.egress_client import EgressClient, EgressEvent

AGAIN_SECONDS = 0.2
MOST_SECONDS = 2.0
"""The longest pause between two attempts."""

type Hear = Callable[[EgressEvent], None]
type Prepare = Callable[[], Awaitable[None]]

_log = logging.getLogger(__name__)


class EgressFollower:
    """Keeps one connection for events; an asynchronous context manager.

    `prepare` is awaited each time that the process has come, before its events are heard. They begin with those since
    the follower of the same `name` had gone. `moved` is told when the process comes, and when it goes, with the reason.
    `resync` has what is awaited after events of a kind were lost, which an event `lost` says to all who hear.
    """

    def __init__(
        self,
        client: EgressClient,
        prepare: Sequence[Prepare],
        hear: Sequence[Hear],
        moved: Callable[[str], None],
        name: str = "",
        resync: Mapping[str, Prepare] | None = None,
    ) -> None:
        self._client = client
        self._prepare = prepare
        self._hear = hear
        self._moved = moved
        self._name = name
        self._resync = resync or {}
        self._tasks = Tasks()
        self.away = "it has not answered yet"
        """Why the process does not answer; empty while it does."""

    async def __aenter__(self) -> Self:
        if not self._client.off:
            self._tasks.start(self._keep(), name="events of the egress process")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def _keep(self) -> None:
        pause = AGAIN_SECONDS
        while True:
            try:
                await self._follow()
                self._note("it ended")
            except Failure as failure:
                self._note(failure.message)
            pause = AGAIN_SECONDS if not self.away else min(MOST_SECONDS, 2 * pause)
            await asyncio.sleep(pause)

    async def _follow(self) -> None:
        async for event in self._client.follow(self._name):
            if not event:  # it accepts; what comes from now on waits
                for prepare in self._prepare:
                    await prepare()
                self._note("")
            for hear in self._hear if event else ():
                _heard(hear, event)
            for resync in self._resyncs(event) if event.get("event") == "lost" else ():
                await resync()

    def _resyncs(self, lost: EgressEvent) -> Iterable[Prepare]:
        return dict.fromkeys(self._resync[kind] for kind in lost["kinds"] if kind in self._resync)

    def _note(self, away: str) -> None:
        before, self.away = self.away, away
        if bool(before) != bool(away):
            self._moved(away)


def _heard(hear: Hear, event: EgressEvent) -> None:
    try:
        hear(event)
    except (KeyError, TypeError, ValueError):
        _log.exception("an event of the egress process is not whole")
