"""What a tenant has and uses."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.api.tenants import Whose, whose
from tandem_fleet.fleet import Fleet
from tandem_fleet.quotas import Quota
from tandem_fleet.store.tenants import TenantStore

Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Month = Annotated[str | None, Query(pattern=r"^2[0-9]{3}-(0[1-9]|1[0-2])$", description="As 2026-11, in UTC; this one unless said.")]


class Holding(BaseModel):
    """What a tenant has now."""

    sandboxes: int
    cpus: float = Field(description="Of those that run or are paused and have a limit.")
    memory_mb: int
    hours: float = Field(description="Hours of running in this month.")


class MonthsUsage(BaseModel):
    """What a tenant may have, has, and used in a month."""

    tenant: str
    quota: Quota
    now: Holding
    month: str
    running_seconds: float
    paused_seconds: float
    memory_mb_hours: float = Field(description="Of both, by each one's limit of memory.")
    cpu_hours: float = Field(description="Of those that ran and have a limit of processors.")


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()
    store = TenantStore(fleet.database)

    @routes.get("/v1/usage")
    async def get_usage(
        caller: Reader,
        tenant: Whose = None,
        month: Month = None,
    ) -> MonthsUsage:
        """What a tenant may have, what it has now, and what it used in a month."""
        day = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC) if month else datetime.now(UTC)
        known = await store.get(whose(caller, tenant))
        now, used = await store.held(known.id), await store.used(known.id, day)
        return MonthsUsage(
            tenant=known.id,
            quota=known.quota,
            now=Holding(sandboxes=now.sandboxes, cpus=now.cpus, memory_mb=now.memory_mb, hours=now.hours),
            month=f"{day:%Y-%m}",
            running_seconds=used.running_seconds,
            paused_seconds=used.paused_seconds,
            memory_mb_hours=used.memory_mb_hours,
            cpu_hours=used.cpu_hours,
        )

    return routes
