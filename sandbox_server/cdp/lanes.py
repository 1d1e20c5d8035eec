"""Lanes: several agents in one browser, each in a browser context of its own with a window, tabs and cookies.

A lane lives until it is deleted. Its context ends with the browser: the next browser gives it an empty one.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from starlette.requests import HTTPConnection

from sandbox_server.cdp.browser_connection import BrowserLink, CommandRefused
from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.cdp.emulation import Emulation
from sandbox_server.cdp.messages import Object
from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound, PermissionDenied, ResourceExhausted, Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.core.tool_allow_list import names_one
from sandbox_server.drivers.browser.lane_names import FIELD, HEADER, MAIN, is_name, only_lane

MAX_LANES = 8
BLANK = "about:blank"
SHOWN = {"Emulation.setFocusEmulationEnabled": {"enabled": True}}
"""Keeps pages drawing that another window covers. A mouse movement over a page that does not draw waits for seconds."""


@dataclass(slots=True)
class _Lane:
    by: str
    """Who made it."""
    made: float
    """Seconds since the epoch."""
    link: BrowserLink | None = None
    context: str = ""


class LaneAt(NamedTuple):
    """A lane in a running browser."""

    link: BrowserLink
    context: str


class BrowserLanes:
    """The lanes by name, and their contexts in the running browser."""

    def __init__(self, browser: BrowserSupervisor) -> None:
        self._browser = browser
        self._lanes: dict[str, _Lane] = {}
        self._turn = asyncio.Lock()
        self._shown = Emulation()
        self._shows: BrowserLink | None = None
        """The browser whose pages are kept drawing."""

    async def close(self) -> None:
        """Disconnect from the browser."""
        await self._shown.close()

    async def create(self, name: str, by: str) -> None:
        """Make a lane and open its window.

        Raises Conflict if there is one of that name, ResourceExhausted at the limit, and Unavailable.
        """
        async with self._turn:
            if name in self._lanes:
                raise Conflict(f"there is a lane {name!r} already", lane=name)
            if len(self._lanes) >= MAX_LANES:
                raise ResourceExhausted(f"there are {MAX_LANES} lanes", limit=MAX_LANES)
            lane = _Lane(by, time.time())
            await self._open(lane, await self._browser.link())
            self._lanes[name] = lane

    async def enter(self, name: str) -> LaneAt:
        """Return a lane's context in the running browser, and make it anew in a browser that has none of it.

        Raises NotFound if there is no such lane, and Unavailable.
        """
        async with self._turn:
            link, lane = await self._browser.link(), self._lane(name)
            if lane.link is not link:
                await self._open(lane, link)
            return LaneAt(link, lane.context)

    async def delete(self, name: str) -> None:
        """Close a lane's pages, whatever they ask, and disconnect its clients. Raises NotFound and Unavailable."""
        async with self._turn:
            lane = self._lane(name)
            if lane.link and not lane.link.over:
                with suppress(CommandRefused):  # it has gone
                    await lane.link.command("Target.disposeBrowserContext", browserContextId=lane.context)
                lane.link.end_lane(lane.context)
            del self._lanes[name]
            if lane.link and not self._lanes:
                await self._shown.pause()
                self._shows = None

    async def listed(self) -> list[Object]:
        """Describe the lanes, oldest first, without starting a browser. Raises Unavailable."""
        link = self._browser.running
        found = (await link.command("Target.getTargets"))["targetInfos"] if link and self._lanes else []
        return [self._described(name, lane, link, found) for name, lane in self._lanes.items()]

    def _described(self, name: str, lane: _Lane, link: BrowserLink | None, found: list[Object]) -> Object:
        here = link if link and lane.link is link else None
        pages = [each for each in found if here and each["type"] == "page" and each.get("browserContextId") == lane.context]
        return {
            "name": name,
            "created_by": lane.by,
            "created": lane.made,
            "pages": len(pages),
            "clients": here.clients_in(lane.context) if here else 0,
        }

    def _lane(self, name: str) -> _Lane:
        if name not in self._lanes:
            raise NotFound(f"there is no lane {name!r}", lane=name, hint="POST /v1/lanes makes one.")
        return self._lanes[name]

    async def _open(self, lane: _Lane, link: BrowserLink) -> None:
        try:
            context = str((await link.command("Target.createBrowserContext"))["browserContextId"])
            link.hidden_targets.add_lane(context)
            await _open_window(link, context)
        except CommandRefused as refused:
            raise Unavailable(f"the browser cannot open a window: {refused}", retry_after=1.0) from None
        lane.link, lane.context = link, context
        if self._shows is not link:
            self._shows = link
            with suppress(Unavailable):  # a page that hangs gets it when it answers
                await self._shown.set(link, SHOWN)


async def _open_window(link: BrowserLink, context: str) -> None:
    try:
        await link.command("Target.createTarget", url=BLANK, browserContextId=context, newWindow=True)
    except BaseException:
        with suppress(Unavailable, CommandRefused):
            await link.command("Target.disposeBrowserContext", browserContextId=context)
        raise


def lane_of(connection: HTTPConnection, caller: Caller) -> str | None:
    """Return the lane that a request names by `?lane=` or the header `X-Lane`; None for none, and for `main`.

    A caller whose token names one lane is in that one. Raises InvalidArgument for what is no name of a lane, and PermissionDenied for
    one that the token does not name.
    """
    name = connection.headers.get(HEADER) or connection.query_params.get(FIELD) or only_lane(caller.lanes) or MAIN
    if name != MAIN and not is_name(name):
        raise InvalidArgument("a lane's name is small letters, digits, '-' and '_'", field=FIELD)
    if caller.lanes is not None and (name == MAIN or not names_one(caller.lanes, (name,))):
        raise PermissionDenied(f"your token does not name the lane {name!r}", hint="Name one that it does with ?lane=.", lane=name)
    return None if name == MAIN else name
