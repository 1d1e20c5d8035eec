"""Lanes: several agents in one browser, each with a window, tabs and cookies of its own."""

from typing import Annotated

from pydantic import Field

from sandbox_server.core import Call, InvalidArgument, Model, PermissionDenied, operation
from sandbox_server.core.tool_allow_list import names_one
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.browser.lane_names import MAIN, NAME_PATTERN, is_name


class LaneRef(Model):
    """Which lane."""

    name: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")]
    """Small letters, digits, `-` and `_`, at most 63."""


class Lane(Model):
    """A lane of the browser."""

    name: str
    created_by: str
    """The caller who made it."""
    created: float
    """Seconds since the epoch."""
    pages: int
    """Open pages."""
    clients: int
    """Connected DevTools clients."""


class LaneList(Model):
    """The lanes, oldest first."""

    lanes: list[Lane]


class Lanes:
    """The operations of lanes."""

    tag = "lanes"

    def __init__(self, owner: BrowserClient) -> None:
        self._owner = owner

    @operation("GET /v1/lanes", scope="browser", shows=False)
    async def list_lanes(self, call: Call) -> LaneList:
        """List the lanes that the caller may be in. A DevTools client is in one that it names by `?lane=`, else in `main`."""
        found = [Lane.model_validate(each) for each in await self._owner.lanes()]
        return LaneList(lanes=[each for each in found if names_one(call.caller.lanes, (each.name,))])

    @operation("POST /v1/lanes", scope="browser", acts="cdp", shows=False)
    async def create_lane(self, request: LaneRef, call: Call) -> LaneRef:
        """Make a lane, with a window that has no cookies, for DevTools clients that connect with `?lane=` and its name.

        They see nothing of other lanes and of `main`, and nobody else's client sees the lane. Raises 409 if there is one of that name.
        """
        if not is_name(request.name):
            raise InvalidArgument(f"{MAIN!r} is what is in no lane", field="name")
        _require_named(call, request.name)
        await self._owner.create_lane(request.name, call.caller.name)
        return request

    @operation("DELETE /v1/lanes/{name}", scope="browser", destructive=True, acts="cdp", shows=False)
    async def delete_lane(self, request: LaneRef, call: Call) -> None:
        """Delete a lane: its pages are closed whatever they ask, its cookies are gone, and its clients are disconnected."""
        _require_named(call, request.name)
        await self._owner.delete_lane(request.name)


def _require_named(call: Call, name: str) -> None:
    """Raise PermissionDenied for a lane that the caller's token does not name."""
    if not names_one(call.caller.lanes, (name,)):
        raise PermissionDenied(f"your token does not name the lane {name!r}", lane=name)
