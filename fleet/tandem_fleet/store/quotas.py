"""Whether a tenant may have one more, decided in the transaction that gives it."""

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tandem_fleet.errors import DrainingError, ForbiddenError
from tandem_fleet.quotas import OCCUPYING, Held, Quota, check
from tandem_fleet.sandboxes import Spec, State
from tandem_fleet.store.facts import DRAINING, fact
from tandem_fleet.store.tables import pool_members, sandboxes, tenants
from tandem_fleet.store.usage import month_of, totals


async def admit(connection: AsyncConnection, tenant: str, spec: Spec, *, sandbox: str = "") -> None:
    """Let one more run, of a tenant that others wait for until the transaction ends: a new one, or a `sandbox` that the tenant has.

    Raises `QuotaError`, `ForbiddenError`, `DrainingError`.
    """
    if await fact(connection, DRAINING):
        raise DrainingError("the fleet is being emptied: nothing new is made or started")
    row = (await connection.execute(select(tenants).where(tenants.c.id == tenant).with_for_update())).mappings().one_or_none()
    if row is None:
        return  # the pool's, or one whose tenant went with a store that was lost
    if row["deleted_at"]:
        raise ForbiddenError(f"the tenant {tenant!r} was removed")
    quota = Quota.model_validate(row["quota"])
    if any(limit is not None for limit in (quota.sandboxes, quota.cpus, quota.memory_mb, quota.hours)):
        check(quota, await held(connection, tenant, quota, but=sandbox), spec, exists=bool(sandbox))


async def held(connection: AsyncConnection, tenant: str, limited: Quota | None = None, *, but: str = "") -> Held:
    """What a tenant has, with what waits in its pools; with a quota only what that limits is counted.

    `but` is a sandbox whose processors and memory do not count. One that failed counts until it is stopped or removed, as its programs
    may run.
    """
    waiting = select(pool_members.c.sandbox).where(pool_members.c.pool.startswith(f"{tenant}/", autoescape=True))
    live = ((sandboxes.c.tenant == tenant) | sandboxes.c.id.in_(waiting)) & (sandboxes.c.state != State.DELETED)
    count, cpus, memory, hours = 0, 0.0, 0, 0.0
    if limited is None or limited.sandboxes is not None:
        count = (await connection.execute(select(func.count()).select_from(sandboxes).where(live))).scalar_one()
    if limited is None or limited.cpus is not None or limited.memory_mb is not None:
        occupying = live & sandboxes.c.desired.in_(OCCUPYING) & (sandboxes.c.id != but)
        sums = (func.sum(sandboxes.c.spec[name].as_float()) for name in ("cpus", "memory_mb"))
        found = (await connection.execute(select(*sums).where(occupying))).one()
        cpus, memory = float(found[0] or 0), int(found[1] or 0)
    if limited is None or limited.hours is not None:
        spent = await totals(connection, tenant, *month_of(datetime.now(UTC)))
        hours = spent.running_seconds / 3600
    return Held(count, cpus, memory, hours)
