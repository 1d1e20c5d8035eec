"""For how long sandboxes ran and were paused, as intervals: one that goes on has no end, and so a crash loses none."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import case, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from tandem_fleet.sandboxes import Sandbox, State
from tandem_fleet.store.tables import usage

KEPT = timedelta(days=400)
RUNNING, PAUSED = "running", "paused"
_KINDS = {State.STARTING: RUNNING, State.READY: RUNNING, State.STOPPING: RUNNING, State.PAUSED: PAUSED}


@dataclass(frozen=True)
class Usage:
    """What sandboxes used in a time, together."""

    running_seconds: float
    paused_seconds: float
    memory_mb_hours: float
    """Of both, by the limit of each."""
    cpu_hours: float
    """Of those that ran and have a limit, by that."""


async def note(connection: AsyncConnection, before: Sandbox | None, after: Sandbox) -> None:
    """Begin and end intervals, in the transaction that changes a sandbox."""
    was = (before.tenant, _KINDS.get(before.state)) if before else ("", None)
    now = (after.tenant, _KINDS.get(after.state))
    if was == now or (was[1] is None and now[1] is None):
        return
    at = _milliseconds(after.changed_at)
    if was[1]:
        await connection.execute(update(usage).where(usage.c.sandbox == after.id, usage.c.ended_ms.is_(None)).values(ended_ms=at))
    if now[1]:
        row: dict[str, Any] = {"tenant": after.tenant, "sandbox": after.id, "kind": now[1], "began_ms": at}
        row |= {"memory_mb": after.spec.memory_mb, "cpus": after.spec.cpus or 0}
        number = (await connection.execute(insert(usage).values(row).returning(usage.c.number))).scalar_one()
        if number % 1000 == 0:
            await connection.execute(delete(usage).where(usage.c.ended_ms < at - _milliseconds_of(KEPT)))


async def totals(connection: AsyncConnection, tenant: str, begin: datetime, end: datetime) -> Usage:
    """What a tenant used between two times, the parts of intervals that reach into it too; what goes on counts until now."""
    first = _milliseconds(begin)
    last = max(first, min(_milliseconds(end), _milliseconds(datetime.now(UTC))))
    began = case((usage.c.began_ms < first, first), else_=usage.c.began_ms)
    ended = case((usage.c.ended_ms.is_(None) | (usage.c.ended_ms > last), last), else_=usage.c.ended_ms)
    sums = (func.sum(ended - began), func.sum((ended - began) * usage.c.memory_mb), func.sum((ended - began) * usage.c.cpus))
    overlapping = (usage.c.tenant == tenant) & (usage.c.began_ms < last) & (usage.c.ended_ms.is_(None) | (usage.c.ended_ms > first))
    found = (await connection.execute(select(usage.c.kind, *sums).where(overlapping).group_by(usage.c.kind))).all()
    of = {kind: [float(total or 0) / 1000 for total in rest] for kind, *rest in found}
    running, paused = of.get(RUNNING, [0.0] * 3), of.get(PAUSED, [0.0] * 3)
    return Usage(running[0], paused[0], (running[1] + paused[1]) / 3600, running[2] / 3600)


def month_of(day: datetime) -> tuple[datetime, datetime]:
    """The beginning of a day's month, and that of the next, in UTC."""
    begin = datetime(day.year, day.month, 1, tzinfo=UTC)
    return begin, datetime(day.year + day.month // 12, day.month % 12 + 1, 1, tzinfo=UTC)


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _milliseconds_of(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)
