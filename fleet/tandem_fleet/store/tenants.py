"""Tenants and their API keys in the store."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import RowMapping, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.quotas import Held, Quota
from tandem_fleet.sandboxes import State
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.quotas import held
from tandem_fleet.store.tables import api_keys, claims, sandboxes, sessions, snapshots, templates, tenants, tickets, webhooks
from tandem_fleet.store.usage import Usage, month_of, totals
from tandem_fleet.tenants import OPERATORS_TENANT, ApiKey, Secret, Tenant

MOST_KEYS = 1000
"""Keys of a tenant that hold at the same time."""
USED_EXACTLY = timedelta(minutes=1)
"""How far behind the last use may be written down."""


class TenantStore:
    """Tenants and keys of the fleet."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def create(self, tenant: str) -> Tenant:
        """Add a tenant. Raises `ConflictError` where the name is taken, by a deleted one too: its record goes on to be its own."""
        now = datetime.now(UTC)
        try:
            async with self.database.writing() as connection:
                await connection.execute(insert(tenants).values(id=tenant, created_at=now, quota={}))
        except IntegrityError as error:
            raise ConflictError(f"there is a tenant called {tenant!r}, or there was one") from error
        return Tenant(id=tenant, created_at=now)

    @whole
    async def get(self, tenant: str) -> Tenant:
        """A tenant. Raises `NotFoundError`."""
        async with self.database.reading() as connection:
            return _tenant(await _live(connection, tenant))

    @whole
    async def all(self) -> list[Tenant]:
        """Every tenant, by name."""
        async with self.database.reading() as connection:
            wanted = select(tenants).where(tenants.c.deleted_at.is_(None)).order_by(tenants.c.id)
            return [_tenant(row) for row in (await connection.execute(wanted)).mappings()]

    @whole
    async def delete(self, tenant: str) -> Tenant:
        """Revoke a tenant's keys, end its browsers' sessions, forget its templates and webhooks, and let it make nothing more.

        Raises `ConflictError` while it has sandboxes or snapshots.
        """
        if tenant == OPERATORS_TENANT:
            raise ConflictError(f"{tenant!r} is the operator's own tenant")
        now = datetime.now(UTC)
        async with self.database.writing() as connection:
            before = _tenant(await _live(connection, tenant, update=True))
            ours = (sandboxes.c.tenant == tenant) & (sandboxes.c.state != State.DELETED)
            if count := (await connection.execute(select(func.count()).select_from(sandboxes).where(ours))).scalar_one():
                raise ConflictError(f"{tenant!r} has {count} sandboxes: remove them first")
            theirs = select(func.count()).select_from(snapshots).where(snapshots.c.tenant == tenant)
            if count := (await connection.execute(theirs)).scalar_one():
                raise ConflictError(f"{tenant!r} has {count} snapshots: remove them first")
            await connection.execute(update(tenants).where(tenants.c.id == tenant).values(deleted_at=now))
            unrevoked = (api_keys.c.tenant == tenant) & api_keys.c.revoked_at.is_(None)
            await connection.execute(update(api_keys).where(unrevoked).values(revoked_at=now))
            for table in (templates, webhooks, tickets, sessions, claims):
                await connection.execute(delete(table).where(table.c.tenant == tenant))
        return before

    @whole
    async def limit(self, tenant: str, quota: Quota) -> Tenant:
        """Say what a tenant may have from now on. What it has already stays."""
        async with self.database.writing() as connection:
            await _live(connection, tenant, update=True)
            await connection.execute(update(tenants).where(tenants.c.id == tenant).values(quota=quota.model_dump(exclude_defaults=True)))
            return _tenant(await _live(connection, tenant))

    @whole
    async def held(self, tenant: str) -> Held:
        """What a tenant has now, and its hours of this month."""
        async with self.database.reading() as connection:
            return await held(connection, tenant)

    @whole
    async def used(self, tenant: str, month: datetime) -> Usage:
        """What a tenant used in a month."""
        async with self.database.reading() as connection:
            return await totals(connection, tenant, *month_of(month))

    @whole
    async def create_key(self, tenant: str, name: str, scopes: Collection[str], expires_at: datetime | None) -> tuple[ApiKey, Secret]:
        """Add a key; its secret is nowhere but in the answer. Raises `NotFoundError`, `ConflictError` for too many."""
        secret, now = Secret.new(), datetime.now(UTC)
        row: dict[str, Any] = {"id": secret.id, "tenant": tenant, "name": name, "digest": secret.digest, "scopes": sorted(scopes)}
        row |= {"created_at": now, "expires_at": expires_at}
        async with self.database.writing() as connection:
            await _live(connection, tenant, update=True)
            held = (api_keys.c.tenant == tenant) & api_keys.c.revoked_at.is_(None)
            held &= api_keys.c.expires_at.is_(None) | (api_keys.c.expires_at > now)
            if (await connection.execute(select(func.count()).select_from(api_keys).where(held))).scalar_one() >= MOST_KEYS:
                raise ConflictError(f"{tenant!r} has {MOST_KEYS} keys: revoke one first")
            await connection.execute(insert(api_keys).values(row))
        return ApiKey(id=secret.id, tenant=tenant, name=name, scopes=row["scopes"], created_at=now, expires_at=expires_at), secret

    @whole
    async def keys(self, tenant: str, *, after: str = "", limit: int = 100) -> list[ApiKey]:
        """A tenant's keys, revoked ones too, by id from behind `after` on."""
        wanted = select(api_keys).where(api_keys.c.tenant == tenant, api_keys.c.id > after).order_by(api_keys.c.id).limit(limit)
        async with self.database.reading() as connection:
            return [_key(row) for row in (await connection.execute(wanted)).mappings()]

    @whole
    async def revoke_key(self, tenant: str, key: str) -> ApiKey:
        """Have a key open nothing from now on. Raises `NotFoundError`."""
        mine = (api_keys.c.tenant == tenant) & (api_keys.c.id == key)
        async with self.database.writing() as connection:
            await connection.execute(update(api_keys).where(mine, api_keys.c.revoked_at.is_(None)).values(revoked_at=datetime.now(UTC)))
            row = (await connection.execute(select(api_keys).where(mine))).mappings().one_or_none()
        if row is None:
            raise NotFoundError("there is no such key")
        return _key(row)

    @whole
    async def known(self, secret: Secret) -> tuple[ApiKey, Quota] | None:
        """The key that a caller sent, if it holds, and its tenant's limits. Its use is written down once a minute."""
        now = datetime.now(UTC)
        mine = api_keys.c.id == secret.id
        async with self.database.reading() as connection:
            wanted = select(api_keys, tenants.c.quota).join(tenants, tenants.c.id == api_keys.c.tenant).where(mine)
            row = (await connection.execute(wanted)).mappings().one_or_none()
        if row is None or not secret.matches(row["digest"]) or not _key(row).holds(now):
            return None
        if row["used_at"] is None or now - aware(row["used_at"]) >= USED_EXACTLY:
            async with self.database.writing() as connection:
                await connection.execute(update(api_keys).where(mine).values(used_at=now))
        return _key(row), Quota.model_validate(row["quota"])


async def _live(connection: AsyncConnection, tenant: str, *, update: bool = False) -> RowMapping:
    wanted = select(tenants).where(tenants.c.id == tenant, tenants.c.deleted_at.is_(None))
    row = (await connection.execute(wanted.with_for_update() if update else wanted)).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"there is no tenant {tenant!r}")
    return row


def _tenant(row: RowMapping) -> Tenant:
    return Tenant(id=row["id"], created_at=aware(row["created_at"]), quota=Quota.model_validate(row["quota"]))


def _key(row: RowMapping) -> ApiKey:
    times = {name: aware(row[name]) for name in ("created_at", "expires_at", "used_at", "revoked_at") if row[name]}
    return ApiKey.model_validate({name: row[name] for name in ("id", "tenant", "name", "scopes")} | times)
