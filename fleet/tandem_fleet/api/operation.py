"""Operations of who operates the fleet."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.backup import dump

Operator = Annotated[Caller, Depends(needs(Scope.OPERATE))]


class DrainRequest(BaseModel):
    """Whether the fleet shall be emptied."""

    model_config = ConfigDict(extra="forbid")

    draining: bool
    stop: bool = Field(default=False, description="Stop what nobody uses, too.")
    idle_minutes: float = Field(default=5, ge=0, le=100_000, description="For how long nobody has used it; with 0 all are stopped.")


class DrainState(BaseModel):
    """Whether it is, and what became of the sandboxes."""

    draining: bool
    stopped: list[str] = Field(description="As tenant/name; they are being stopped.")
    used: list[str] = Field(description="Those that run on.")


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/v1/drain")
    async def get_drain(caller: Operator) -> DrainState:
        """Whether nothing new is made or started."""
        return DrainState(draining=await fleet.drain.draining(), stopped=[], used=[])

    @routes.put("/v1/drain")
    async def drain(caller: Operator, request: DrainRequest) -> DrainState:
        """Make and start nothing new from now on, and stop what nobody uses; or end that."""
        await fleet.drain.set(request.draining)
        if not (request.draining and request.stop):
            return DrainState(draining=request.draining, stopped=[], used=[])
        drained = await fleet.drain.stop(request.idle_minutes * 60)
        stopped, used = ([f"{one.tenant}/{one.name}" for one in some] for some in (drained.stopped, drained.used))
        return DrainState(draining=True, stopped=stopped, used=used)

    @routes.get("/v1/backup", response_class=StreamingResponse)
    async def back_up(caller: Operator) -> StreamingResponse:
        """The whole store at one moment, as lines of JSON. The last one says how many rows there were."""
        return StreamingResponse(_lines(fleet), media_type="application/jsonl")

    return routes


async def _lines(fleet: Fleet) -> AsyncIterator[str]:
    async for line in dump(fleet.database, fleet.key.number):
        yield f"{line}\n"
