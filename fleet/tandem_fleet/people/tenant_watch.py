"""Follows the sandboxes of one tenant while somebody looks at its wall."""

import asyncio
import logging
import time

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.people.answers import shown_labels
from tandem_fleet.people.pictures import Pictures
from tandem_fleet.people.questions import Question, queue_of
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.people.sandbox_watch import SandboxWatch
from tandem_fleet.people.wall_page import Tile, WallEvent, WallPage, WallSnapshot
from tandem_fleet.sandboxes import Sandbox, State
from tandem_fleet.store.people import Claim, PeopleStore
from tandem_fleet.store.sandboxes import SandboxStore

NEWS_SECONDS = 1.0
"""How long a change that another process made may stay unseen."""
MOST_TILES = 1000
MOST_FOLLOWED = 200
"""Sandboxes whose streams are held open: two connections each. Of more, the state is shown alone."""
_log = logging.getLogger(__name__)


class TenantWatch:
    """What is known of a tenant's sandboxes, and the pages that show it."""

    def __init__(self, tenant: str, sandboxes: SandboxStore, people: PeopleStore, calls: SandboxCalls) -> None:
        self.tenant = tenant
        self.pages: dict[str, WallPage] = {}
        self.pictures = Pictures(calls, self._changed)
        self._store, self._people, self._calls = sandboxes, people, calls
        self._sandboxes: dict[str, Sandbox] = {}
        self._watches: dict[str, SandboxWatch] = {}
        self._claims: dict[str, Claim] = {}
        self._event = 0
        self._looking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read all once, then follow."""
        try:
            self._event = await self._store.last_event()
            for _, sandbox in await self._store.page(self.tenant, limit=MOST_TILES):
                await self._take(sandbox)
            await self.read_claims()
        except BaseException:
            await self.close()
            raise
        self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Follow nothing any more."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.pictures.close()
        await asyncio.gather(*(watch.close() for watch in self._watches.values()))

    def snapshot(self, page: WallPage) -> WallEvent:
        """All that a page shows at first."""
        tiles = [tile for one in self._sandboxes if (tile := self.tile(one))]
        return WallEvent("wall", WallSnapshot(page=page.number, tiles=tiles, queue=self.queue(page.session)).model_dump(mode="json"))

    def tile(self, sandbox: str) -> Tile | None:
        """See `Shown.tile`."""
        found = self._sandboxes.get(sandbox)
        if found is None:
            return None
        watch = self._watches.get(sandbox)
        return Tile(
            id=found.id,
            name=found.name,
            state=found.state,
            reason=found.reason[:300],
            labels=shown_labels(found.spec.labels),
            created_at=found.created_at,
            driver=watch.driver if watch else None,
            picture=self.pictures.version(sandbox),
        )

    def queue(self, session: str) -> list[Question]:
        """See `Shown.queue`."""
        return queue_of([one for watch in self._watches.values() for one in watch.questions], self._claims, session)

    async def reached(self, seconds: float) -> None:
        """Wait until each sandbox that is followed since less time than that has answered, at most so long."""
        now = time.monotonic()
        if waiting := [asyncio.create_task(one.reached.wait()) for one in self._watches.values() if now - one.begun_at < seconds]:
            _, late = await asyncio.wait(waiting, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def look(self) -> None:
        """Look at what some page has in sight and runs, and at nothing else."""
        async with self._looking:
            sight = frozenset().union(*(page.sight for page in self.pages.values())) if self.pages else frozenset[str]()
            seen = {one: self._sandboxes[one] for one in sight if one in self._watches}
            await self.pictures.look_at(seen)

    async def read_claims(self) -> None:
        """Read who has claimed what."""
        found = {one.question: one for one in await self._people.claims(self.tenant)}
        if found != self._claims:
            self._claims = found
            self._asked()

    async def _follow(self) -> None:
        while True:
            seen = self._store.database.changes
            try:
                events = await self._store.events(self.tenant, self._event)
                for event in events:
                    self._event = event.number
                    await self._take(event.sandbox)
                if events:
                    await self.look()
                    continue
                await self.read_claims()
            except (SQLAlchemyError, OSError, ValueError):
                _log.exception("cannot read what became of sandboxes")
            await self._store.database.wait_for_change(seen, NEWS_SECONDS)

    async def _take(self, sandbox: Sandbox) -> None:
        """Note a sandbox as it is now, and follow it if it runs."""
        number, gone = sandbox.id, sandbox.state in (State.DELETED, State.DELETING)
        if gone:
            self._sandboxes.pop(number, None)
            self.pictures.forget(number)
        elif number in self._sandboxes or len(self._sandboxes) < MOST_TILES:
            self._sandboxes[number] = sandbox
        watch = self._watches.get(number)
        if watch and (gone or sandbox.state != State.READY or watch.sandbox.address != sandbox.address):
            del self._watches[number]
            await watch.close()
            if watch.questions:
                self._asked()
        if (
            number in self._sandboxes
            and sandbox.state == State.READY
            and number not in self._watches
            and len(self._watches) < MOST_FOLLOWED
        ):
            self._watches[number] = SandboxWatch(sandbox, self._calls, lambda: self._changed(number), self._asked)
        self._changed(number)

    def _changed(self, sandbox: str) -> None:
        for page in self.pages.values():
            page.changed(sandbox)

    def _asked(self) -> None:
        for page in self.pages.values():
            page.asked()
