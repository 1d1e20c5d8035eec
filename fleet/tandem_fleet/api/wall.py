"""The wall: all sandboxes at work, for people, and what is asked of them in one queue."""

import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.api.queue import holder_of
from tandem_fleet.api.streams import while_known
from tandem_fleet.fleet import Fleet
from tandem_fleet.people.wall_page import WallEvent

Person = Annotated[Caller, Depends(needs(Scope.PEOPLE))]
User = Annotated[Caller, Depends(needs(Scope.USE))]
PICTURE_HEADERS = {
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Sight(BaseModel):
    """What a page has in sight."""

    model_config = ConfigDict(extra="forbid")

    page: str = Field(max_length=64)
    sandboxes: list[Annotated[str, Field(max_length=32)]] = Field(max_length=200)


class Link(BaseModel):
    """A link that signs a browser in to a sandbox, once."""

    link: str
    seconds: int


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/v1/wall/events")
    async def follow_wall(request: Request, caller: Person) -> StreamingResponse:
        """The wall as server-sent events: `wall` with all, then `tile`, `gone` and `queue` with what changed."""
        fleet.wall.require_room(caller.tenant)
        lines = while_known(request, event_lines(fleet, caller))
        return StreamingResponse(lines, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @routes.put("/v1/wall/sight", status_code=204)
    async def see(caller: Person, request: Sight) -> None:
        """Say which sandboxes a page has in sight. Of these alone pictures are taken, while they run and change."""
        await fleet.wall.see(caller.tenant, request.page, frozenset(request.sandboxes))

    @routes.get("/v1/sandboxes/{name}/picture", response_class=Response, responses={200: {"content": {"image/jpeg": {}}}})
    async def get_picture(caller: Person, name: str, if_none_match: Annotated[str, Header(max_length=200)] = "") -> Response:
        """A small picture of a sandbox's screen, a JPEG; 304 where it is the one of `If-None-Match`."""
        kept = fleet.wall.kept_picture(caller.tenant, name)  # the page asks by id, often
        picture = kept or await fleet.wall.picture(await fleet.find(caller.tenant, name))
        headers = PICTURE_HEADERS | {"ETag": f'"{picture.version}"'}
        if f'"{picture.version}"' in if_none_match:
            return Response(status_code=304, headers=headers)
        return Response(picture.content, headers=headers, media_type="image/jpeg")

    @routes.put("/v1/sandboxes/{name}/link")
    async def make_link(caller: User, name: str) -> Link:
        """A link that opens a sandbox's live page, once, within half a minute, signed in as the caller."""
        sandbox = await fleet.find(caller.tenant, name)
        place = fleet.addresses.url(sandbox.id) if fleet.addresses else ""
        return Link(link=await fleet.wall.link(sandbox, caller.name, place), seconds=30)

    return routes


async def event_lines(fleet: Fleet, caller: Caller) -> AsyncIterator[bytes]:
    """What a page is told, without end."""
    async for event in fleet.wall.events(caller.tenant, holder_of(caller)):
        yield _lines(event)


def _lines(event: WallEvent) -> bytes:
    return f"event: {event.name}\ndata: {json.dumps(event.data)}\n\n".encode() if event.name else b": still here\n\n"
