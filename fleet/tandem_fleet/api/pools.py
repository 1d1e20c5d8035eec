"""Operations on warm pools."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.fleet import Fleet
from tandem_fleet.pools import Pool
from tandem_fleet.store.templates import SHARED

Reader = Annotated[Caller, Depends(needs(Scope.READ))]


class PoolStatus(BaseModel):
    """The pool of a template's newest version."""

    template: str
    shared: bool
    min: int
    max: int
    wanted: int = Field(description="How many shall wait, by how many were claimed in the last five minutes.")
    ready: int
    starting: int
    failures: int = Field(description="Starts that failed in a row.")
    reason: str = Field(description="Why the last one failed.")

    @classmethod
    def of(cls, pool: Pool) -> "PoolStatus":
        """As it is."""
        size = {"min": pool.size.min, "max": pool.size.max, "wanted": pool.wanted, "ready": pool.ready, "starting": pool.starting}
        said = {"failures": pool.failures, "reason": pool.reason}
        return cls(template=pool.template.reference, shared=pool.owner == SHARED, **size, **said)  # type: ignore[arg-type] # by name


class PoolStatuses(BaseModel):
    """All that the caller may claim of."""

    pools: list[PoolStatus]


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/v1/pools")
    async def list_pools(caller: Reader) -> PoolStatuses:
        """The warm pools of the caller's templates, and of shared ones."""
        return PoolStatuses(pools=[PoolStatus.of(pool) for pool in fleet.pools.pools.values() if pool.owner in (caller.tenant, SHARED)])

    return routes
