"""Operations on snapshots, and forks."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query
from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.api.messages import LARGEST, Secrets, put_in
from tandem_fleet.api.sandboxes import Seconds, settled
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Name, Sandbox
from tandem_fleet.store.snapshots import Snapshot

Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Writer = Annotated[Caller, Depends(needs(Scope.WRITE))]


class SnapshotRequest(BaseModel):
    """What to call it."""

    model_config = ConfigDict(extra="forbid")

    label: str = Field(default="", max_length=200, pattern=r"^[^\x00]*$", description="A word for whoever reads the list.")


class RestoreRequest(BaseModel):
    """What the new sandbox is called, and what the snapshot does not hold."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    egress: dict[str, Any] | None = Field(default=None, description="Its network policy.")
    secrets: Secrets = Field(default_factory=dict)


class ForkRequest(BaseModel):
    """How many."""

    model_config = ConfigDict(extra="forbid")

    count: int = Field(default=1, ge=1, le=100)


class SnapshotPage(BaseModel):
    """A part of a list."""

    snapshots: list[Snapshot]
    next_cursor: int | None = None


class Forked(BaseModel):
    """The new ones."""

    sandboxes: list[Sandbox]


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()
    _add_snapshots(routes, fleet)
    _add_copies(routes, fleet)
    return routes


def _add_snapshots(routes: APIRouter, fleet: Fleet) -> None:
    @routes.post("/v1/sandboxes/{name}/snapshots", status_code=201)
    async def make_snapshot(caller: Writer, name: str, request: SnapshotRequest, wait: Seconds = 0) -> Snapshot:
        """Keep the files that a sandbox has now. Its programs go on; their memory is not in it."""
        made = await fleet.copies.snapshot(caller.tenant, name, request.label)
        if wait:
            try:
                return await fleet.snapshots.settle(made.id, wait)
            except TimeoutError:
                return await fleet.snapshots.get(caller.tenant, made.id)
        return made

    @routes.get("/v1/snapshots")
    async def list_snapshots(
        caller: Reader, cursor: Annotated[int, Query(ge=0, le=LARGEST)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> SnapshotPage:
        """Snapshots, the oldest first. Go on with `next_cursor` until it is null."""
        page = await fleet.snapshots.page(caller.tenant, cursor, limit)
        return SnapshotPage(snapshots=[one for _, one in page], next_cursor=page[-1][0] if len(page) == limit else None)

    @routes.get("/v1/snapshots/{snapshot}")
    async def get_snapshot(caller: Reader, snapshot: str) -> Snapshot:
        """One snapshot."""
        return await fleet.snapshots.get(caller.tenant, snapshot)

    @routes.delete("/v1/snapshots/{snapshot}", status_code=204)
    async def remove_snapshot(caller: Writer, snapshot: str) -> None:
        """Remove a snapshot. Sandboxes that were made of it stay."""
        await fleet.snapshots.remove(caller.tenant, snapshot)


def _add_copies(routes: APIRouter, fleet: Fleet) -> None:
    @routes.post("/v1/snapshots/{snapshot}/restore", status_code=201)
    async def restore_snapshot(
        caller: Writer,
        snapshot: str,
        request: RestoreRequest,
        wait: Seconds = 0,
        idempotency_key: Annotated[str, Header(max_length=255)] = "",
    ) -> Sandbox:
        """Make a sandbox with the files of a snapshot."""
        name, secrets = request.name or "", put_in(request.secrets)
        made = await fleet.copies.restore(caller.tenant, snapshot, name=name, key=idempotency_key, egress=request.egress, secrets=secrets)
        return await settled(fleet, made, wait)

    @routes.post("/v1/sandboxes/{name}/fork", status_code=201)
    async def fork_sandbox(caller: Writer, name: str, request: ForkRequest, wait: Seconds = 0) -> Forked:
        """Make sandboxes with the files that one has now."""
        made = await fleet.copies.fork(caller.tenant, name, request.count)
        ended = await asyncio.gather(*(settled(fleet, one, wait) for one in made), return_exceptions=True)
        return Forked(
            sandboxes=[now if isinstance(now, Sandbox) else await fleet.get(one.id) for one, now in zip(made, ended, strict=True)]
        )
