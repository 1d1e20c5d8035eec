"""Snapshots in the store. Their files are beside it."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import RowMapping, delete, func, insert, select, update

from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.printable import printable
from tandem_fleet.sandboxes import Spec
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.tables import snapshots

REASON = 1024
"""Characters of a reason that are kept."""


class SnapshotState(StrEnum):
    """What a snapshot is."""

    MAKING = "making"
    READY = "ready"
    FAILED = "failed"


class Snapshot(BaseModel):
    """The files of a sandbox at one moment."""

    model_config = ConfigDict(frozen=True)

    id: str
    tenant: str
    label: str
    sandbox: str
    """The sandbox's id that it was made of."""
    spec: Spec
    state: SnapshotState
    reason: str
    bytes: int
    digest: str
    """SHA-256 of its file."""
    temporary: bool
    """It goes when the sandboxes that it was made for have it."""
    created_at: datetime


class SnapshotStore:
    """The snapshots of all tenants."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def add(self, snapshot: Snapshot, *, most: int) -> Snapshot:
        """Keep one. Raises `ConflictError` where the tenant has `most`."""
        row = snapshot.model_dump() | {"spec": snapshot.spec.model_dump(mode="json")}
        async with self.database.writing() as connection:
            kept = await connection.execute(select(func.count()).select_from(snapshots).where(snapshots.c.tenant == snapshot.tenant))
            if kept.scalar_one() >= most:
                raise ConflictError(f"there are {most} snapshots: remove some")
            await connection.execute(insert(snapshots).values(row))
        return snapshot

    @whole
    async def change(self, snapshot: str, /, **values: Any) -> None:
        """Set fields of one."""
        if "reason" in values:
            values["reason"] = printable(values["reason"], REASON)
        async with self.database.writing() as connection:
            await connection.execute(update(snapshots).where(snapshots.c.id == snapshot).values(**values))
        await self.database.announce(snapshot)

    @whole
    async def get(self, snapshot: str, tenant: str | None = None) -> Snapshot:
        """One by its id, of a tenant. Raises `NotFoundError`."""
        wanted = select(snapshots).where(snapshots.c.id == snapshot)
        if tenant is not None:
            wanted = wanted.where(snapshots.c.tenant == tenant)
        async with self.database.reading() as connection:
            row = (await connection.execute(wanted)).mappings().one_or_none()
        if row is None:
            raise NotFoundError(f"there is no snapshot {snapshot!r}")
        return _read(row)

    @whole
    async def named(self, tenant: str, name: str) -> Snapshot | None:
        """A tenant's snapshot that is made, by its id, else the newest by its label."""
        ours = (snapshots.c.tenant == tenant) & (snapshots.c.state == SnapshotState.READY) & ~snapshots.c.temporary
        wanted = select(snapshots).where(ours, (snapshots.c.id == name) | ((snapshots.c.label == name) & (snapshots.c.label != "")))
        best = wanted.order_by((snapshots.c.id == name).desc(), snapshots.c.number.desc()).limit(1)
        async with self.database.reading() as connection:
            row = (await connection.execute(best)).mappings().one_or_none()
        return _read(row) if row else None

    @whole
    async def ids(self) -> set[str]:
        """The ids of all."""
        async with self.database.reading() as connection:
            return set((await connection.execute(select(snapshots.c.id))).scalars())

    @whole
    async def page(
        self, tenant: str | None, after: int, limit: int, *, state: SnapshotState | None = None, temporary: bool | None = None
    ) -> list[tuple[int, Snapshot]]:
        """Snapshots, the oldest first, each with its number."""
        wanted = select(snapshots).where(snapshots.c.number > after)
        if tenant is not None:
            wanted = wanted.where(snapshots.c.tenant == tenant)
        if state is not None:
            wanted = wanted.where(snapshots.c.state == state)
        if temporary is not None:
            wanted = wanted.where(snapshots.c.temporary == temporary)
        async with self.database.reading() as connection:
            rows = (await connection.execute(wanted.order_by(snapshots.c.number).limit(limit))).mappings().all()
        return [(row["number"], _read(row)) for row in rows]

    @whole
    async def remove(self, snapshot: str) -> None:
        """Forget one."""
        async with self.database.writing() as connection:
            await connection.execute(delete(snapshots).where(snapshots.c.id == snapshot))
        await self.database.announce(snapshot)


def made_now(number: str, tenant: str, label: str, sandbox: str, spec: Spec, *, temporary: bool) -> Snapshot:
    """One that is being made."""
    fields = {"id": number, "tenant": tenant, "label": label, "sandbox": sandbox, "spec": spec, "temporary": temporary}
    empty = {"reason": "", "bytes": 0, "digest": "", "state": SnapshotState.MAKING}
    return Snapshot.model_validate(fields | empty | {"created_at": datetime.now(UTC)})


def _read(row: RowMapping) -> Snapshot:
    words = {name: value for name, value in row.items() if name != "number"}
    return Snapshot.model_validate(words | {"created_at": aware(row["created_at"])})
