"""The record of calls in the store. Entries are added and never changed; the oldest of a tenant go when there are too many."""

from collections import Counter
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete, insert, select

from tandem_fleet.printable import printable
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.tables import audit

KEPT = 100_000
"""Entries of a tenant that are kept. Each has its own, so that nobody's calls push out another's."""
TRIM_EVERY = 1000
CALLER, ADDRESS, REQUEST, CALL = 160, 64, 64, 512
"""Characters of each that are kept."""


class Entry(BaseModel):
    """A call."""

    model_config = ConfigDict(frozen=True)

    number: int
    at: datetime
    tenant: str = Field(description="Whose caller it was; empty where the caller was not known.")
    caller: str = Field(description="The key's name and id, or `operator`.")
    address: str = Field(description="Where it came from: an IP address, or `socket`.")
    request: str = Field(description="The request's id, as in `X-Request-Id` and in the service's log.")
    call: str = Field(description="The method and the path as they were sent; what cannot be printed is escaped.")
    status: int


class AuditStore:
    """The entries of all tenants."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._written: Counter[str] = Counter()

    @whole
    async def add(self, tenant: str, caller: str, *, address: str, request: str, call: str, status: int) -> None:
        """Add an entry. What is too long is cut."""
        row = {"tenant": tenant, "caller": printable(caller, CALLER), "address": printable(address, ADDRESS), "at": datetime.now(UTC)}
        row |= {"request": printable(request, REQUEST), "call": printable(call, CALL), "status": status}
        async with self.database.writing() as connection:
            await connection.execute(insert(audit).values(row))
            if self._written[tenant] % TRIM_EVERY == 0:
                ours = audit.c.tenant == tenant
                oldest = select(audit.c.number).where(ours).order_by(audit.c.number.desc()).offset(KEPT).limit(1).scalar_subquery()
                await connection.execute(delete(audit).where(ours, audit.c.number <= oldest))
        self._written[tenant] += 1

    @whole
    async def page(self, tenant: str, *, before: int | None = None, limit: int = 100) -> list[Entry]:
        """Entries, the newest first, from the number `before` on down."""
        wanted = select(audit).where(audit.c.tenant == tenant).order_by(audit.c.number.desc()).limit(limit)
        if before is not None:
            wanted = wanted.where(audit.c.number < before)
        async with self.database.reading() as connection:
            rows = (await connection.execute(wanted)).mappings().all()
        return [Entry.model_validate(dict(row) | {"at": aware(row["at"])}) for row in rows]
