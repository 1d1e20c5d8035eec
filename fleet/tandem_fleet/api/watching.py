"""What becomes of sandboxes, and whether all is well."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import StreamingResponse

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.api.messages import LARGEST, Findings
from tandem_fleet.api.streams import Streams, while_known
from tandem_fleet.fleet import Fleet

Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Operator = Annotated[Caller, Depends(needs(Scope.OPERATE))]


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes, streams = APIRouter(), Streams()

    @routes.get("/v1/sandboxes/{name}/logs")
    async def get_logs(
        request: Request, caller: Reader, name: str, lines: Annotated[int, Query(ge=1, le=100_000)] = 1000, follow: bool = False
    ) -> StreamingResponse:  # a query
        """What a sandbox's programs wrote on the container's output, as text."""
        await fleet.find(caller.tenant, name)
        written = while_known(request, fleet.logs(caller.tenant, name, lines=lines, follow=follow))
        return StreamingResponse(streams.begin(caller.tenant, written), media_type="text/plain; charset=utf-8")

    @routes.get("/v1/events")
    async def get_events(
        request: Request, caller: Reader, last_event_id: Annotated[int | None, Header(ge=0, le=LARGEST)] = None
    ) -> StreamingResponse:
        """What becomes of sandboxes, as server-sent events: from now on, or behind `Last-Event-ID`. Each is a sandbox."""
        lines = while_known(request, event_lines(fleet, caller.tenant, last_event_id))
        return StreamingResponse(streams.begin(caller.tenant, lines), media_type="text/event-stream")

    @routes.get("/v1/doctor")
    async def examine(caller: Operator) -> Findings:
        """Whether the engine and the store can do what sandboxes need."""
        return Findings.of(await fleet.examine())

    return routes


async def event_lines(fleet: Fleet, tenant: str, after: int | None) -> AsyncIterator[bytes]:
    """A tenant's events as server-sent events, without end."""
    yield b": events\n\n"
    async for event in fleet.events(tenant, after):
        yield f"id: {event.number}\nevent: sandbox\ndata: {event.sandbox.model_dump_json()}\n\n".encode()
