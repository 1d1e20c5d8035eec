"""Sandboxes in the store, and the events that tell what becomes of them.

Each change of a sandbox and the event that tells it are one transaction.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import RowMapping, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from tandem_fleet.backends.backend import Found
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.metrics import CREATED, TRANSITIONS
from tandem_fleet.printable import printable
from tandem_fleet.quotas import occupies
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.quotas import admit
from tandem_fleet.store.tables import events, pool_members, preparations, requests, sandboxes, schedules
from tandem_fleet.store.usage import note

KEPT_EVENTS = 100_000
KEPT_REQUESTS = timedelta(days=1)
REASON = 1024
"""Characters of a reason that are kept."""
EVENTS_LOCK = 0x74616E64656D
"""PostgreSQL's advisory lock of who writes an event: numbers are taken in the order in which they become visible."""


@dataclass(frozen=True)
class Event:
    """What became of a sandbox."""

    number: int
    at: datetime
    sandbox: Sandbox


class SandboxStore:
    """The sandboxes of all tenants."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def create(
        self,
        sandbox: str,
        name: str,
        tenant: str,
        spec: Spec,
        *,
        key: str = "",
        asked: str = "",
        work: dict[str, Any] | None = None,
        pool: str = "",
    ) -> Sandbox:
        """Add a sandbox that shall run. `asked` is the request in its own words, where they say less than name and spec.
        `work` is put into it before it is ready. One with a `pool` waits there for who claims it.

        With `key` the same request, made again within a day, gives the sandbox of the first one. Raises `ConflictError` where the name is
        taken, or the key was used for another request, `QuotaError` where the tenant may have no more.
        """
        digest = _digest(asked, name, spec)
        try:
            async with self.database.writing() as connection:
                if key and (earlier := await _made_before(connection, tenant, key, digest)):
                    return earlier
                await admit(connection, pool.partition("/")[0] if pool else tenant, spec)
                now = datetime.now(UTC)
                row: dict[str, Any] = {
                    "id": sandbox,
                    "name": name,
                    "tenant": tenant,
                    "spec": spec.model_dump(mode="json"),
                    "created_at": now,
                    "changed_at": now,
                }
                row |= {"desired": Desired.RUNNING, "state": State.CREATING, "reason": "", "address": "", "failures": 0}
                await connection.execute(insert(sandboxes).values(row))
                if pool:
                    await connection.execute(insert(pool_members).values(sandbox=sandbox, pool=pool))
                await _note(connection, tenant, key, digest, sandbox, work)
                made = await _tell(connection, None, sandbox)
        except IntegrityError as error:
            if key and (again := await self._earlier(tenant, key, digest)):
                return again  # the same request, at the same time
            raise ConflictError(f"there is a sandbox called {name!r}") from error
        CREATED.inc()
        await self.database.announce(made.id)
        return made

    @whole
    async def claim(
        self, pool: str, name: str, tenant: str, spec: Spec, *, key: str = "", asked: str = "", work: dict[str, Any] | None = None
    ) -> Sandbox | None:
        """Give a tenant a sandbox that waits in a pool; None where none is ready. The rest is as in `create`."""
        digest = _digest(asked, name, spec)
        waiting = select(sandboxes.c.id).join(pool_members, pool_members.c.sandbox == sandboxes.c.id).order_by(sandboxes.c.number).limit(1)
        waiting = waiting.where(pool_members.c.pool == pool, sandboxes.c.state == State.READY, sandboxes.c.desired == Desired.RUNNING)
        try:
            async with self.database.writing() as connection:
                if key and (earlier := await _made_before(connection, tenant, key, digest)):
                    return earlier
                member = (await connection.execute(waiting.with_for_update(skip_locked=True))).scalar_one_or_none()
                if member is None:
                    return None
                before = _read(await _row(connection, sandboxes.c.id == member))
                await connection.execute(delete(pool_members).where(pool_members.c.sandbox == member))
                await admit(connection, tenant, spec)
                now = datetime.now(UTC)
                values: dict[str, Any] = {"name": name or member, "tenant": tenant, "spec": spec.model_dump(mode="json")}
                values |= {"state": State.STARTING, "created_at": now, "changed_at": now}
                await connection.execute(update(sandboxes).where(sandboxes.c.id == member).values(values))
                await _note(connection, tenant, key, digest, member, work)
                claimed = await _tell(connection, before, member)
        except IntegrityError as error:
            if key and (again := await self._earlier(tenant, key, digest)):
                return again  # the same request, at the same time
            raise ConflictError(f"there is a sandbox called {name!r}") from error
        await self.database.announce()
        return claimed

    @whole
    async def retire(self, sandbox: str) -> bool:
        """Have one that waits in a pool deleted; False where it does not wait any more."""
        async with self.database.writing() as connection:
            if not (await connection.execute(delete(pool_members).where(pool_members.c.sandbox == sandbox))).rowcount:
                return False
            before = _read(await _row(connection, sandboxes.c.id == sandbox, update=True))
            await connection.execute(update(sandboxes).where(sandboxes.c.id == sandbox).values(desired=Desired.DELETED))
            await _tell(connection, before, sandbox)
        await self.database.announce()
        return True

    @whole
    async def adopt(self, found: Found) -> Sandbox:
        """Add a sandbox that exists in the engine and not here. One whose name is taken gets its id as its name."""
        running = found.phase in ("running", "paused")
        desired = {"paused": Desired.PAUSED, "running": Desired.RUNNING}.get(found.phase, Desired.STOPPED)
        state = State.STARTING if running else State.STOPPED
        row: dict[str, Any] = {
            "id": found.id,
            "tenant": found.tenant,
            "spec": found.spec.model_dump(mode="json"),
            "desired": desired,
            "state": state,
        }
        row |= {"reason": "", "address": found.address, "failures": 0, "created_at": found.created_at, "changed_at": datetime.now(UTC)}
        for name in (found.name, found.id):
            with suppress(IntegrityError):
                async with self.database.writing() as connection:
                    await connection.execute(insert(sandboxes).values(row | {"name": name}))
                    made = await _tell(connection, None, found.id)
                CREATED.inc()
                await self.database.announce(made.id)
                return made
        return await self.get(found.id)

    async def change(self, sandbox: str, /, **values: Any) -> Sandbox:
        """Set fields of a sandbox, and tell it where that changes something."""
        return (await self.change_from(None, sandbox, **values))[0]

    @whole
    async def change_from(self, seen: Sandbox | None, sandbox: str, /, **values: Any) -> tuple[Sandbox, bool]:
        """The same where it is still as it was `seen`; and whether it was. What was ordered in between is not overwritten."""
        if "reason" in values:
            values["reason"] = printable(values["reason"], REASON)
        async with self.database.writing() as connection:
            before = await _row(connection, sandboxes.c.id == sandbox, update=True)
            if seen and _read(before) != seen:
                return _read(before), False
            if all(before[name] == value for name, value in values.items()):
                return _read(before), True
            if "desired" in values or "tenant" in values:
                await _admit(connection, _read(before), values)
            await connection.execute(update(sandboxes).where(sandboxes.c.id == sandbox).values(**values, changed_at=datetime.now(UTC)))
            if values.get("state") == State.DELETED:
                for table in (pool_members, preparations, schedules):
                    await connection.execute(delete(table).where(table.c.sandbox == sandbox))
            changed = await _tell(connection, _read(before), sandbox)
        if before["state"] != changed.state:
            TRANSITIONS.labels(before["state"], changed.state).inc()
        await self.database.announce(changed.id)
        return changed, True

    @whole
    async def get(self, sandbox: str) -> Sandbox:
        """A sandbox by its id, a deleted one too. Raises `NotFoundError`."""
        async with self.database.reading() as connection:
            return _read(await _row(connection, sandboxes.c.id == sandbox))

    @whole
    async def find(self, tenant: str, name: str) -> Sandbox:
        """A sandbox of a tenant by its name or id, unless it is deleted. Raises `NotFoundError`."""
        ours = (sandboxes.c.tenant == tenant) & (sandboxes.c.state != State.DELETED)
        async with self.database.reading() as connection:
            with suppress(NotFoundError):
                return _read(await _row(connection, ours & (sandboxes.c.id == name)))
            return _read(await _row(connection, ours & (sandboxes.c.name == name), name))

    @whole
    async def page(
        self, tenant: str | None = None, *, after: int = 0, limit: int = 1000, state: State | None = None
    ) -> list[tuple[int, Sandbox]]:
        """Sandboxes that are not deleted, the oldest first, each with its number, from behind the number `after` on."""
        wanted = select(sandboxes).where(
            sandboxes.c.number > after, sandboxes.c.state == state if state else sandboxes.c.state != State.DELETED
        )
        if tenant is not None:
            wanted = wanted.where(sandboxes.c.tenant == tenant)
        async with self.database.reading() as connection:
            rows = (await connection.execute(wanted.order_by(sandboxes.c.number).limit(limit))).mappings().all()
        return [(row["number"], _read(row)) for row in rows]

    async def all(self) -> AsyncIterator[Sandbox]:
        """Every sandbox that is not deleted."""
        after = 0
        while page := await self.page(after=after):
            for _, sandbox in page:
                yield sandbox
            after = page[-1][0]

    @whole
    async def counts(self) -> dict[tuple[str, str], int]:
        """How many sandboxes there are that are not deleted, by state and template."""
        template = func.coalesce(sandboxes.c.spec["template"].as_string(), "")
        wanted = select(sandboxes.c.state, template, func.count()).where(sandboxes.c.state != State.DELETED)
        async with self.database.reading() as connection:
            rows = (await connection.execute(wanted.group_by(sandboxes.c.state, text("2")))).all()
        return {(state, name): count for state, name, count in rows}

    @whole
    async def last_event(self) -> int:
        """The number of the newest event; 0 where there is none."""
        async with self.database.reading() as connection:
            return (await connection.execute(select(func.max(events.c.number)))).scalar() or 0

    @whole
    async def events(self, tenant: str | None, after: int, *, limit: int = 100) -> list[Event]:
        """Events behind the number `after`, the oldest first."""
        wanted = select(events).where(events.c.number > after)
        if tenant is not None:
            wanted = wanted.where(events.c.tenant == tenant)
        async with self.database.reading() as connection:
            rows: Sequence[RowMapping] = (await connection.execute(wanted.order_by(events.c.number).limit(limit))).mappings().all()
        return [Event(row["number"], aware(row["at"]), Sandbox.model_validate(row["data"])) for row in rows]

    async def _earlier(self, tenant: str, key: str, digest: str) -> Sandbox | None:
        async with self.database.reading() as connection:
            earlier = await _request(connection, tenant, key)
            if earlier is None or earlier["digest"] != digest:
                return None
            return _read(await _row(connection, sandboxes.c.id == earlier["sandbox"]))


async def _admit(connection: AsyncConnection, before: Sandbox, values: dict[str, Any]) -> None:
    """Have what begins to take room be admitted: started by order, or given to a tenant."""
    tenant = values.get("tenant", before.tenant)
    taken = occupies(before.desired, before.state) and tenant == before.tenant
    if not taken and occupies(values.get("desired", before.desired), values.get("state", before.state)):
        await admit(connection, tenant, before.spec, sandbox=before.id if tenant == before.tenant else "")


async def _note(connection: AsyncConnection, tenant: str, key: str, digest: str, sandbox: str, work: dict[str, Any] | None) -> None:
    """Write which request a sandbox was made by, and what is to be put into it."""
    now = datetime.now(UTC)
    if key:
        await connection.execute(insert(requests).values(tenant=tenant, key=key, digest=digest, sandbox=sandbox, at=now))
        await connection.execute(delete(requests).where(requests.c.at < now - KEPT_REQUESTS))
    if work is not None:
        await connection.execute(insert(preparations).values(sandbox=sandbox, work=work))


async def _tell(connection: AsyncConnection, before: Sandbox | None, sandbox: str) -> Sandbox:
    """Write the event of a change that was made on this connection, and what is used from now on."""
    told = _read(await _row(connection, sandboxes.c.id == sandbox))
    await note(connection, before, told)
    row = {"tenant": told.tenant, "sandbox": told.id, "at": told.changed_at, "data": told.model_dump(mode="json")}
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": EVENTS_LOCK})
    number = (await connection.execute(insert(events).values(row).returning(events.c.number))).scalar_one()
    if number % 1000 == 0:
        await connection.execute(delete(events).where(events.c.number <= number - KEPT_EVENTS))
    return told


def _digest(asked: str, name: str, spec: Spec) -> str:
    """What tells a request from another one: its own words, else the name and what is made."""
    return hashlib.sha256((asked or f"{name}\n{spec.model_dump_json()}").encode()).hexdigest()


async def _made_before(connection: AsyncConnection, tenant: str, key: str, digest: str) -> Sandbox | None:
    """The sandbox that the same request was given before. Raises `ConflictError` where the key was used for another request."""
    earlier = await _request(connection, tenant, key)
    if earlier is None:
        return None
    if earlier["digest"] != digest:
        raise ConflictError(f"the Idempotency-Key {key!r} was used for another request")
    return _read(await _row(connection, sandboxes.c.id == earlier["sandbox"]))


async def _request(connection: AsyncConnection, tenant: str, key: str) -> RowMapping | None:
    wanted = select(requests).where(requests.c.tenant == tenant, requests.c.key == key)
    return (await connection.execute(wanted)).mappings().one_or_none()


async def _row(connection: AsyncConnection, condition: Any, name: str = "", *, update: bool = False) -> RowMapping:
    wanted = select(sandboxes).where(condition)
    row = (await connection.execute(wanted.with_for_update() if update else wanted)).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"there is no sandbox {name!r}" if name else "there is no such sandbox")
    return row


def _read(row: RowMapping) -> Sandbox:
    words = {name: value for name, value in row.items() if name != "number"}
    return Sandbox.model_validate(words | {"created_at": aware(row["created_at"]), "changed_at": aware(row["changed_at"])})
