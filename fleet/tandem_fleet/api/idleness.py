"""Operations that say when a sandbox sleeps and wakes."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.fleet import Fleet
from tandem_fleet.idle_policy import IdlePolicy
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.schedules import LONGEST_SECONDS, SHORTEST_SECONDS
from tandem_fleet.store.schedules import Schedule

Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Writer = Annotated[Caller, Depends(needs(Scope.WRITE))]


class ScheduleRequest(BaseModel):
    """When to wake a sandbox: at a time, every so often, or both."""

    model_config = ConfigDict(extra="forbid")

    at: AwareDatetime | None = Field(default=None, description="The first time, with its zone; without it one interval from now.")
    every_seconds: int | None = Field(
        default=None, ge=SHORTEST_SECONDS, le=LONGEST_SECONDS, description="How often after that; once without it."
    )


class PlannedWake(BaseModel):
    """When a sandbox wakes."""

    id: str
    at: datetime
    every_seconds: int | None

    @classmethod
    def of(cls, schedule: Schedule) -> "PlannedWake":
        """As it was kept."""
        return cls(id=schedule.id, at=schedule.at, every_seconds=schedule.every_seconds)


class PlannedWakes(BaseModel):
    """All of a sandbox, the next first."""

    schedules: list[PlannedWake]


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.put("/v1/sandboxes/{name}/idle")
    async def set_idle(caller: Writer, name: str, request: IdlePolicy) -> Sandbox:
        """Say what becomes of a sandbox while nobody uses it, from now on."""
        return await fleet.set_idle(caller.tenant, name, request)

    @routes.get("/v1/sandboxes/{name}/schedules")
    async def list_schedules(caller: Reader, name: str) -> PlannedWakes:
        """When a sandbox wakes."""
        found = await fleet.schedules.of(await fleet.find(caller.tenant, name))
        return PlannedWakes(schedules=[PlannedWake.of(one) for one in found])

    @routes.post("/v1/sandboxes/{name}/schedules", status_code=201)
    async def add_schedule(caller: Writer, name: str, request: ScheduleRequest) -> PlannedWake:
        """Have a sandbox wake at a time, or every so often."""
        sandbox = await fleet.find(caller.tenant, name)
        return PlannedWake.of(await fleet.schedules.add(sandbox, request.at, request.every_seconds))

    @routes.delete("/v1/sandboxes/{name}/schedules/{schedule}", status_code=204)
    async def remove_schedule(caller: Writer, name: str, schedule: str) -> None:
        """Forget a time."""
        await fleet.schedules.remove(await fleet.find(caller.tenant, name), schedule)

    return routes
