"""Warm pools: sandboxes that are started before somebody asks for one.

A member is a sandbox of nobody, with a row that says whose pool it waits in. A claim removes that row and gives the sandbox to a tenant, in
one transaction: of two claims one gets it, and it comes back to no pool.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.errors import DrainingError, FleetError, ForbiddenError, InvalidError, QuotaError
from tandem_fleet.sandboxes import Sandbox, Spec, State, new_id
from tandem_fleet.store.pools import NOBODY, Member, PoolStore
from tandem_fleet.store.templates import StoredTemplate, TemplateStore
from tandem_fleet.templates import PoolSize, Template, TemplateContent

WINDOW_SECONDS = 300.0
"""Claims of so long make the rate."""
AHEAD = 1.5
"""How many times the claims of one cold start wait ready."""
COLD_SECONDS = 10.0
"""How long a start takes before one was seen."""
STARTING = 4
"""Members of all pools that start at the same time, so that others have their turn."""
MOST_FAILURES = 3
BACK_OFF_SECONDS, LONGEST_BACK_OFF_SECONDS = 30.0, 1800.0
LOOK_SECONDS = 15.0
"""How long what another process did may stay unseen."""
TOGETHER_SECONDS = 0.1
"""How long news is collected, so that many at once cost one look."""
_ASTRAY = frozenset({State.FAILED, State.PAUSED, State.STOPPING, State.STOPPED})
"""States in which a member serves nobody: a drain stops them, too."""
_log = logging.getLogger(__name__)


def target(size: PoolSize, rate: float, cold_seconds: float) -> int:
    """How many shall wait, for a rate of claims a second."""
    return min(size.max, max(size.min, math.ceil(rate * cold_seconds * AHEAD)))


@dataclass
class Pool:
    """What is known of the pool of a template's newest version."""

    key: str
    owner: str
    template: Template
    size: PoolSize
    claims: deque[float] = field(default_factory=deque)
    cold_seconds: float = COLD_SECONDS
    failures: int = 0
    retry_at: float = 0.0
    reason: str = ""
    ready: int = 0
    starting: int = 0

    @property
    def wanted(self) -> int:
        """How many shall wait."""
        begin = time.monotonic() - WINDOW_SECONDS
        while self.claims and self.claims[0] < begin:
            self.claims.popleft()
        return target(self.size, len(self.claims) / WINDOW_SECONDS, self.cold_seconds)

    def failed(self, reason: str) -> None:
        """A member did not become ready. After some in a row no more are started for a while, each time longer."""
        self.failures += 1
        self.reason = reason
        if self.failures >= MOST_FAILURES:
            wait = min(LONGEST_BACK_OFF_SECONDS, BACK_OFF_SECONDS * 2 ** (self.failures - MOST_FAILURES))
            self.retry_at = time.monotonic() + wait
            _log.warning("the pool of %s is not filled for %g s: %d starts in a row failed: %s", self.key, wait, self.failures, reason)

    def started(self, seconds: float) -> None:
        """A member became ready after so long."""
        self.failures, self.retry_at, self.reason = 0, 0.0, ""
        self.cold_seconds += (min(seconds, 600.0) - self.cold_seconds) / 4


def key_of(owner: str, template: Template) -> str:
    """The pool of a version of a template. One that was removed and made again has another. Quotas count by the owner before the slash."""
    return f"{owner}/{template.reference}/{int(template.created_at.timestamp() * 1000)}"


def is_warm(template: Template, spec: Spec) -> bool:
    """Whether one that waits can become this: what a container is started with is the template's."""
    fields = template.content.spec() | {"template": template.reference, "labels": spec.labels, "idle": spec.idle}
    return Spec.model_validate(fields) == spec


class Pools:
    """Keeps as many ready as shall wait. `poke` has a sandbox looked at."""

    def __init__(self, store: PoolStore, templates: TemplateStore, poke: Callable[[str], None]) -> None:
        self._store = store
        self._templates = templates
        self._poke = poke
        self._news = asyncio.Event()
        self._changed = True
        self._read_at = 0.0
        self._since: dict[str, float] = {}
        self.pools: dict[str, Pool] = {}

    def note(self, sandbox: Sandbox) -> None:
        """A sandbox became what it is now: of interest if it is nobody's."""
        if sandbox.tenant == NOBODY:
            self._news.set()

    def renew(self) -> None:
        """A template changed."""
        self._changed = True
        self._news.set()

    async def claim(self, owner: str, template: Template, claim: Callable[[str], Awaitable[Sandbox | None]]) -> Sandbox | None:
        """The sandbox that `claim` gets of the pool; None where none is ready."""
        key = key_of(owner, template)
        if (pool := self.pools.get(key)) is not None:
            pool.claims.append(time.monotonic())
        claimed = await claim(key)
        self._news.set()
        return claimed

    async def run(self) -> None:
        """Fill and empty pools as it is needed, without end."""
        while True:
            self._news.clear()
            try:
                await self._fill()
            except (FleetError, SQLAlchemyError, OSError, ValueError):
                _log.exception("cannot fill the pools")
                self._changed = True
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._news.wait()
            if time.monotonic() - self._read_at >= LOOK_SECONDS:
                self._changed = True
            await asyncio.sleep(TOGETHER_SECONDS)

    async def _fill(self) -> None:
        if self._changed:
            await self._read()
        members = await self._store.members()
        waiting: dict[str, list[Member]] = {key: [] for key in self.pools}
        for member in members:
            if member.pool not in waiting or member.state in _ASTRAY:
                await self._retire(member)
            else:
                waiting[member.pool].append(member)
        room = STARTING - sum(member.state != State.READY for each in waiting.values() for member in each)
        for key, pool in self.pools.items():
            self._count(pool, waiting[key])
            surplus = len(waiting[key]) - pool.wanted
            for member in sorted(waiting[key], key=lambda one: one.state == State.READY)[: max(0, surplus)]:
                await self._retire(member)
            while surplus < 0 < room and time.monotonic() >= pool.retry_at:
                try:
                    await self._add(pool)
                except DrainingError:
                    return
                except (QuotaError, ForbiddenError, InvalidError) as error:
                    pool.failed(str(error))
                    break
                surplus, room = surplus + 1, room - 1

    def _count(self, pool: Pool, members: list[Member]) -> None:
        pool.ready = sum(member.state == State.READY for member in members)
        pool.starting = len(members) - pool.ready
        for member in members:
            if member.state == State.READY and (begun := self._since.pop(member.sandbox, None)) is not None:
                pool.started(time.monotonic() - begun)

    async def _add(self, pool: Pool) -> None:
        number = new_id()
        spec = pool.template.content.spec() | {"template": pool.template.reference, "idle": None}
        await self._store.add(number, pool.key, Spec.model_validate(spec))
        self._since[number] = time.monotonic()
        pool.starting += 1
        self._poke(number)

    async def _retire(self, member: Member) -> None:
        """Remove one that nobody claimed meanwhile."""
        if not await self._store.retire(member.sandbox):
            return
        self._since.pop(member.sandbox, None)
        pool = self.pools.get(member.pool)
        if pool and member.state == State.FAILED:
            pool.failed(member.reason)
        self._poke(member.sandbox)

    async def _read(self) -> None:
        """The templates that have a pool, in their newest version."""
        self._changed = False
        self._read_at = time.monotonic()
        found: dict[str, Pool] = {}
        after = 0
        while page := await self._templates.page(None, after, 1000):
            after = page[-1][0]
            for _, stored in page:
                if stored.content.get("pool") and (pool := _pool(stored)):
                    found[pool.key] = self.pools.get(pool.key, pool)
        self.pools = found


def _pool(stored: StoredTemplate) -> Pool | None:
    template = Template.of(stored)
    size = TemplateContent.model_validate(stored.content).pool
    return Pool(key_of(stored.tenant, template), stored.tenant, template, size) if size else None
