"""Webhooks in the store: where each goes on in the events, and since when it fails."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, delete, func, insert, or_, select, update

from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.printable import printable
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.tables import webhooks

REASON = 300
"""Characters of a reason that are kept."""


@dataclass(frozen=True)
class Webhook:
    """Where a tenant's events are sent."""

    id: str
    tenant: str
    url: str
    secret: str
    types: tuple[str, ...]
    """Events that are sent; without any, all."""
    cursor: int
    """The number of the last event that was sent, or passed over."""
    attempts: int
    """Failures in a row."""
    failing_since: datetime | None
    next_at: datetime | None
    """When it is sent again after a failure."""
    reason: str
    created_at: datetime
    disabled: bool


class WebhookStore:
    """The webhooks of all tenants."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def add(self, webhook: Webhook, *, most: int) -> Webhook:
        """Keep one. Raises `ConflictError` where the tenant has `most`."""
        row: dict[str, Any] = {name: getattr(webhook, name) for name in Webhook.__dataclass_fields__} | {"types": list(webhook.types)}
        async with self.database.writing() as connection:
            kept = await connection.execute(select(func.count()).select_from(webhooks).where(webhooks.c.tenant == webhook.tenant))
            if kept.scalar_one() >= most:
                raise ConflictError(f"there are {most} webhooks: remove some")
            await connection.execute(insert(webhooks).values(row))
        return webhook

    @whole
    async def get(self, webhook: str) -> Webhook:
        """One by its id. Raises `NotFoundError`."""
        found = await self._read(webhooks.c.id == webhook)
        if not found:
            raise NotFoundError(f"there is no webhook {webhook!r}")
        return found[0]

    @whole
    async def of(self, tenant: str) -> list[Webhook]:
        """A tenant's webhooks, the oldest first."""
        return await self._read(webhooks.c.tenant == tenant)

    @whole
    async def exist(self) -> bool:
        """Whether there is any."""
        async with self.database.reading() as connection:
            return (await connection.execute(select(webhooks.c.id).limit(1))).scalar_one_or_none() is not None

    @whole
    async def due(self, newest: int, now: datetime) -> list[Webhook]:
        """Those for which there are events, up to the number `newest`, and that wait for no time."""
        waits_not = or_(webhooks.c.next_at.is_(None), webhooks.c.next_at <= now)
        return await self._read((webhooks.c.cursor < newest) & ~webhooks.c.disabled & waits_not)

    @whole
    async def passed(self, webhook: str, cursor: int) -> bool:
        """All up to an event was sent. Gives whether it still is to be sent to."""
        well = {"cursor": cursor, "attempts": 0, "failing_since": None, "next_at": None, "reason": ""}
        return await self._change((webhooks.c.id == webhook) & ~webhooks.c.disabled, **well)

    @whole
    async def failed(self, webhook: str, since: datetime, next_at: datetime, reason: str, *, disabled: bool) -> None:
        """One was not taken."""
        said = {"failing_since": since, "next_at": next_at, "reason": printable(reason, REASON), "disabled": disabled}
        await self._change(webhooks.c.id == webhook, attempts=webhooks.c.attempts + 1, **said)

    @whole
    async def enable(self, tenant: str, webhook: str, cursor: int) -> Webhook:
        """Begin again behind an event. Raises `NotFoundError`."""
        ours = (webhooks.c.tenant == tenant) & (webhooks.c.id == webhook)
        fresh = {"cursor": cursor, "attempts": 0, "failing_since": None, "next_at": None, "reason": "", "disabled": False}
        if not await self._change(ours, **fresh):
            raise NotFoundError(f"there is no webhook {webhook!r}")
        return (await self._read(ours))[0]

    @whole
    async def remove(self, tenant: str, webhook: str) -> bool:
        """Remove one of a tenant; whether there was any."""
        async with self.database.writing() as connection:
            gone = await connection.execute(delete(webhooks).where(webhooks.c.tenant == tenant, webhooks.c.id == webhook))
            return bool(gone.rowcount)

    async def _read(self, wanted: ColumnElement[bool]) -> list[Webhook]:
        async with self.database.reading() as connection:
            rows = (await connection.execute(select(webhooks).where(wanted).order_by(webhooks.c.created_at))).mappings().all()
        return [_read(row) for row in rows]

    async def _change(self, wanted: ColumnElement[bool], **values: Any) -> bool:
        async with self.database.writing() as connection:
            return bool((await connection.execute(update(webhooks).where(wanted).values(**values))).rowcount)


def _read(row: RowMapping) -> Webhook:
    times = {name: aware(row[name]) if row[name] else None for name in ("failing_since", "next_at")}
    return Webhook(**dict(row) | times | {"types": tuple(row["types"]), "created_at": aware(row["created_at"])})
