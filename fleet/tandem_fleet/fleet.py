"""What callers ask of the fleet. Each call writes what shall be into the store; the reconciler makes it so."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.backends.backend import Backend, Finding, Order
from tandem_fleet.copies import Copies
from tandem_fleet.creation import Creation
from tandem_fleet.drain import Drain
from tandem_fleet.errors import ConflictError, EngineError, FleetError, SandboxFailedError
from tandem_fleet.feed import NEWS_SECONDS, Feed
from tandem_fleet.gateway.addresses import Addresses
from tandem_fleet.idle_policy import IdlePolicy
from tandem_fleet.idleness import IdleWatch
from tandem_fleet.leadership import leading
from tandem_fleet.metrics import measured
from tandem_fleet.network_policies import NetworkPolicies
from tandem_fleet.outbound import Network
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.people.wall import Wall
from tandem_fleet.pools import Pools
from tandem_fleet.preparation import Preparation, Preparations
from tandem_fleet.reconciler import Reconciler
from tandem_fleet.recovery import Recovery
from tandem_fleet.sandbox_client import SandboxClient
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State
from tandem_fleet.schedules import Schedules
from tandem_fleet.signing_key import ISSUER, SigningKey
from tandem_fleet.snapshots import Snapshots
from tandem_fleet.store.database import Database
from tandem_fleet.store.people import PeopleStore
from tandem_fleet.store.pools import PoolStore
from tandem_fleet.store.preparations import PreparationStore
from tandem_fleet.store.sandboxes import Event, SandboxStore
from tandem_fleet.store.schedules import ScheduleStore
from tandem_fleet.store.snapshots import SnapshotStore
from tandem_fleet.store.templates import TemplateStore
from tandem_fleet.store.webhooks import WebhookStore
from tandem_fleet.templates import Templates
from tandem_fleet.webhooks import Webhooks

SETTLE_SECONDS = 2.0
"""How long a sandbox that another process changed may stay unseen by who waits for it."""
AGAIN_SECONDS = 5.0
"""When work besides that failed is begun again."""
_log = logging.getLogger(__name__)

Egress = dict[str, Any] | None
Secrets = dict[str, dict[str, Any]]


class Fleet:
    """The sandboxes of one fleet."""

    def __init__(
        self,
        database: Database,
        backend: Backend,
        key: SigningKey,
        image: str,
        addresses: Addresses | None = None,
        snapshots: Path | None = None,
        webhook_networks: Sequence[Network] = (),
    ) -> None:
        """`addresses` are those of the gateway, where there is one; `snapshots` is a folder for the files of those.

        `webhook_networks` are private ones that webhooks may lead to.
        """
        self.key = key
        self.image = image
        self.addresses = addresses
        self.database = database
        self._store = SandboxStore(database)
        self._backend = backend = measured(backend)
        self._client = SandboxClient(key)
        preparation_store = PreparationStore(database)
        self.snapshots = Snapshots(SnapshotStore(database), preparation_store, self._client, snapshots)
        self._preparations = Preparations(preparation_store, self._client, self.snapshots)
        self._reconciler = Reconciler(self._store, backend, self._order, self._preparations)
        template_store = TemplateStore(database)
        self.templates = Templates(template_store)
        pool_store = PoolStore(database)
        self.pools = Pools(pool_store, template_store, self._reconciler.poke)
        self._recovery = Recovery(self._store, pool_store, self._client, self._become)
        self.templates.listeners.append(self.pools.renew)
        self._creation = Creation(self._store, self.templates, self.pools, self._reconciler.poke)
        self.copies = Copies(self.find, self.snapshots, self._creation, self._discard)
        self.network = NetworkPolicies(self._store, self._client)
        self.schedules = Schedules(ScheduleStore(database), self._store.get, self._wake)
        self._idle = IdleWatch(self._client, self._store.get, self._become)
        self.webhooks = Webhooks(WebhookStore(database), self._store, webhook_networks)
        self._feed = Feed(self._store)
        self._feed.listeners += [self._idle.note, self.pools.note, self._recovery.note]
        if database.dialect == "postgresql":
            self._feed.listeners.append(self._reconciler.note)  # what other services were asked for
        self.drain = Drain(self._store, self._client, self._become)
        self.people = PeopleStore(database)
        self.calls = SandboxCalls(key)
        self.wall = Wall(self._store, self.people, self.calls)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> "Fleet":
        async with AsyncExitStack() as opening:
            opening.push_async_callback(self.database.close)
            opening.push_async_callback(self._backend.close)
            await self.database.prepare()
            opening.push_async_callback(self._client.close)
            opening.push_async_callback(self.snapshots.close)
            opening.push_async_callback(self.webhooks.close)
            opening.push_async_callback(self._reconciler.close)
            opening.push_async_callback(self.wall.close)
            await opening.enter_async_context(leading(self.database, self._lead))
            self._open = opening.pop_all()
        return self

    @asynccontextmanager
    async def _lead(self) -> AsyncIterator[None]:
        """Do what one service of a fleet does alone, until the block ends."""
        try:
            await self.snapshots.recover()
            await self._reconciler.start()
            works = (self._feed.run, self._idle.run, self.schedules.run, self.pools.run, self.webhooks.run)
            async with _running(*works, self._recovery.run, self.snapshots.run):
                yield
        finally:
            await self._reconciler.stop()

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def _order(self, sandbox: Sandbox) -> Order:
        environment = self.addresses.environment(sandbox.id) if self.addresses else {}
        return Order(sandbox.id, sandbox.name, sandbox.tenant, sandbox.spec, self.key.key_set_json, ISSUER, environment)

    async def create(
        self, tenant: str, spec: Spec, *, name: str = "", key: str = "", egress: Egress = None, secrets: Secrets | None = None
    ) -> Sandbox:
        """Have a sandbox made and started, or one of its template's pool. Without a name it is called by its id.

        `egress` is its network policy, `secrets` are put into it before it is ready. The same `key` with the same request gives the same
        sandbox.
        """
        return await self._creation.create(tenant, spec, name, key, Preparation(egress=egress, secrets=secrets or {}))

    async def get(self, sandbox: str) -> Sandbox:
        """A sandbox by its id, a deleted one too."""
        return await self._store.get(sandbox)

    async def find(self, tenant: str, name: str) -> Sandbox:
        """A sandbox by its name or id."""
        return await self._store.find(tenant, name)

    async def page(self, tenant: str, after: int, limit: int, state: State | None) -> list[tuple[int, Sandbox]]:
        """Sandboxes, the oldest first, each with the number behind which the next page begins."""
        return await self._store.page(tenant, after=after, limit=limit, state=state)

    async def order(self, tenant: str, name: str, desired: Desired) -> Sandbox:
        """Have a sandbox become something else. Raises `ConflictError` where that has no meaning."""
        while True:
            sandbox = await self._store.find(tenant, name)
            if sandbox.desired == Desired.DELETED and desired != Desired.DELETED:
                raise ConflictError(f"{sandbox.name} is being deleted")
            if desired == Desired.PAUSED and sandbox.state not in (State.READY, State.PAUSED):
                raise ConflictError(f"{sandbox.name} is {sandbox.state}: only one that is ready is paused")
            values: dict[str, object] = {"desired": desired}
            if sandbox.state == State.FAILED and desired != Desired.DELETED:
                values |= {"state": State.CREATING, "failures": 0, "reason": ""}
            changed, same = await self._store.change_from(sandbox, sandbox.id, **values)
            if same:  # otherwise something became of it since: it is looked at again
                break
        if desired == Desired.RUNNING:
            self._preparations.forget(changed.id)
        self._reconciler.poke(changed.id)
        return changed

    async def _become(self, seen: Sandbox, desired: Desired) -> None:
        """Have a sandbox become something else, if nothing became of it since it was seen."""
        await self._store.change_from(seen, seen.id, desired=desired)
        self._reconciler.poke(seen.id)

    async def _discard(self, sandbox: Sandbox) -> None:
        await self.order(sandbox.tenant, sandbox.id, Desired.DELETED)

    async def _wake(self, sandbox: Sandbox) -> None:
        await self.order(sandbox.tenant, sandbox.id, Desired.RUNNING)

    async def set_idle(self, tenant: str, name: str, idle: IdlePolicy | None) -> Sandbox:
        """Change what becomes of a sandbox while nobody uses it."""
        sandbox = await self._store.find(tenant, name)
        return await self._store.change(sandbox.id, spec=sandbox.spec.model_copy(update={"idle": idle}).model_dump(mode="json"))

    async def settle(self, sandbox: str, seconds: float) -> Sandbox:
        """Wait until a sandbox is what it shall be. Raises `SandboxFailedError` if it failed, TimeoutError after `seconds`."""
        deadline = time.monotonic() + seconds
        with self.database.watching(sandbox) as news:
            while not (now := await self._store.get(sandbox)).is_settled:
                if (left := deadline - time.monotonic()) <= 0:
                    raise TimeoutError(f"{now.name} is still {now.state} after {seconds:g} s")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, SETTLE_SECONDS)):
                        await news.wait()
                news.clear()
        if now.state == State.FAILED:
            raise SandboxFailedError(f"{now.name} failed: {now.reason}")
        return now

    async def token(self, tenant: str, name: str, subject: str, scopes: Collection[str], seconds: int) -> tuple[Sandbox, str]:
        """A token that opens this sandbox and no other."""
        sandbox = await self._store.find(tenant, name)
        return sandbox, self.key.sign(sandbox.id, subject, scopes, seconds)

    async def events(self, tenant: str, after: int | None) -> AsyncIterator[Event]:
        """What becomes of the tenant's sandboxes, without end: behind the number `after`, or from now on."""
        if after is None:
            after = await self._store.last_event()
        while True:
            seen = self.database.changes
            events = await self._store.events(tenant, after)
            for event in events:
                after = event.number
                yield event
            if not events:
                await self.database.wait_for_change(seen, NEWS_SECONDS)

    async def logs(self, tenant: str, name: str, *, lines: int, follow: bool) -> AsyncIterator[bytes]:
        """What a sandbox's programs wrote on the container's output."""
        sandbox = await self._store.find(tenant, name)
        async for line in self._backend.logs(sandbox.id, lines=lines, follow=follow):
            yield line

    async def examine(self) -> list[Finding]:
        """Whether engine and store can do what sandboxes need."""
        return [*await _looked("engine", self._backend.examine), *await _looked("store", self._examine_store)]

    async def _examine_store(self) -> list[Finding]:
        failed = [sandbox.name async for sandbox in self._store.all() if sandbox.state == State.FAILED]
        hint = f"tandem ps says why; tandem start {failed[0]} tries again" if failed else ""
        return [
            Finding("store", True, f"event {await self._store.last_event()} is the newest"),
            _examined(self.pools),
            Finding("sandboxes", not failed, f"failed: {', '.join(failed)}" if failed else "none has failed", hint),
        ]


@asynccontextmanager
async def _running(*works: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Do works besides, until the block ends."""
    tasks = [asyncio.create_task(_again_and_again(work)) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _examined(pools: Pools) -> Finding:
    failing = [f"{pool.template.reference}: {pool.reason}" for pool in pools.pools.values() if pool.failures]
    ready = sum(pool.ready for pool in pools.pools.values())
    return Finding("pools", not failing, "; ".join(failing) or f"{len(pools.pools)}, with {ready} ready")


async def _again_and_again(work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await work()
        except (FleetError, OSError, ValueError, SQLAlchemyError):
            _log.exception("%s ended, and begins again", work.__qualname__)
            await asyncio.sleep(AGAIN_SECONDS)


async def _looked(name: str, look: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    try:
        async with asyncio.timeout(10):
            return await look()
    except (EngineError, OSError) as error:
        return [
            Finding(name, holds=False, detail=str(error) or "it did not answer within 10 s", hint="start the engine, and be in its group")
        ]
