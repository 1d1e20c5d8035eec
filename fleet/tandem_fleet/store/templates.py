"""Templates in the store: a row for each version."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.tables import templates

SHARED = ""
"""In place of a tenant: everybody's."""
KEPT_VERSIONS = 100


@dataclass(frozen=True)
class StoredTemplate:
    """A version of a template, as it was kept."""

    tenant: str
    name: str
    version: int
    content: dict[str, Any]
    created_at: datetime


class TemplateStore:
    """The templates of all tenants."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def put(self, tenant: str, name: str, content: dict[str, Any], *, most: int) -> StoredTemplate:
        """Add a version where the content is not the newest one's. Raises `ConflictError` where the tenant has `most` others."""
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        ours = (templates.c.tenant == tenant) & (templates.c.name == name)
        newest = select(templates).where(ours).order_by(templates.c.version.desc()).limit(1)
        try:
            async with self.database.writing() as connection:
                before = (await connection.execute(newest)).mappings().one_or_none()
                if before and before["digest"] == digest:
                    return _read(before)
                names = select(func.count(templates.c.name.distinct())).where(templates.c.tenant == tenant)
                if before is None and (await connection.execute(names)).scalar_one() >= most:
                    raise ConflictError(f"there are {most} templates: remove some")
                version = before["version"] + 1 if before else 1
                row = {"tenant": tenant, "name": name, "version": version, "content": content, "digest": digest}
                await connection.execute(insert(templates).values(row | {"created_at": datetime.now(UTC)}))
                await connection.execute(delete(templates).where(ours, templates.c.version <= version - KEPT_VERSIONS))
                made = _read((await connection.execute(newest)).mappings().one())
        except IntegrityError as error:
            raise ConflictError(f"the template {name!r} was changed at the same time") from error
        await self.database.announce()
        return made

    @whole
    async def find(self, tenant: str, name: str, version: int | None) -> StoredTemplate:
        """A version, the newest where none is said: the tenant's own before a shared one. Raises `NotFoundError`."""
        wanted = select(templates).where(_seen_by(tenant), templates.c.name == name)
        if version is not None:
            wanted = wanted.where(templates.c.version == version)
        async with self.database.reading() as connection:
            found = await connection.execute(wanted.order_by(templates.c.tenant.desc(), templates.c.version.desc()).limit(1))
            row = found.mappings().one_or_none()
        if row is None:
            raise NotFoundError(f"there is no template {name if version is None else f'{name}@{version}'!r}")
        return _read(row)

    @whole
    async def page(self, tenant: str | None, after: int, limit: int) -> list[tuple[int, StoredTemplate]]:
        """The newest version of each that a tenant may use, or of all, with the row's number."""
        newest = select(func.max(templates.c.number)).group_by(templates.c.tenant, templates.c.name)
        wanted = select(templates).where(templates.c.number.in_(newest), templates.c.number > after)
        if tenant is not None:
            wanted = wanted.where(_seen_by(tenant))
        async with self.database.reading() as connection:
            rows = (await connection.execute(wanted.order_by(templates.c.number).limit(limit))).mappings().all()
        return [(row["number"], _read(row)) for row in rows]

    @whole
    async def remove(self, tenant: str, name: str) -> None:
        """Remove a template with its versions. Raises `NotFoundError`."""
        async with self.database.writing() as connection:
            gone = await connection.execute(delete(templates).where(templates.c.tenant == tenant, templates.c.name == name))
        if not gone.rowcount:
            raise NotFoundError(f"there is no template {name!r}")
        await self.database.announce()


def _seen_by(tenant: str) -> ColumnElement[bool]:
    return templates.c.tenant.in_((tenant, SHARED))


def _read(row: RowMapping) -> StoredTemplate:
    return StoredTemplate(row["tenant"], row["name"], row["version"], row["content"], aware(row["created_at"]))
