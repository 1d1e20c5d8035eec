"""The internal paths for lanes, for the API server. The gateway does not route them."""

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sandbox_server.cdp.lanes import BrowserLanes
from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.browser.lane_names import is_name


class LaneEndpoints:
    """Lists, makes and deletes lanes."""

    def __init__(self, lanes: BrowserLanes) -> None:
        self._lanes = lanes

    async def list(self, _: Request) -> Response:
        """The lanes. Does not start the browser."""
        return JSONResponse(await self._lanes.listed())

    async def create(self, request: Request) -> Response:
        """Make a lane. The body is who makes it, as a JSON string."""
        name = request.path_params["name"]
        if not is_name(name):
            raise InvalidArgument("a lane's name is small letters, digits, '-' and '_'")
        await self._lanes.create(name, str(orjson.loads(await request.body())))
        return JSONResponse({})

    async def delete(self, request: Request) -> Response:
        """Delete a lane."""
        await self._lanes.delete(request.path_params["name"])
        return JSONResponse({})
