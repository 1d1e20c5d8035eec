"""The HTTP request behind an MCP message, and the identity headers that it carries to the API."""

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from starlette.requests import Request

from sandbox_server.core.identity import SURFACE, forwarded
from sandbox_server.drivers.browser.lane_names import FIELD, HEADER, MAIN, is_name

type RequestContext = ServerRequestContext[Any, Request]


def http_request(context: RequestContext) -> Request:
    """The HTTP request that carried an MCP message. Raises MCPError if there is none."""
    if context.request is None:
        raise MCPError(INTERNAL_ERROR, "the call came without its request")
    return context.request


def identity_headers(request: Request) -> dict[str, str]:
    """The headers that name the caller, its origin and its lane, with the surface `mcp`, for which the API is strict about fields.

    Raises MCPError where the request names a lane by what is no name.
    """
    return {**forwarded(request.headers), **_lane(request), SURFACE: "mcp"}


def _lane(request: Request) -> dict[str, str]:
    """What the request says of a lane: the API refuses what is not of one, so that no tool acts in another place than was meant."""
    named = request.query_params.get(FIELD) or request.headers.get(HEADER) or MAIN
    if named == MAIN:
        return {}
    if not is_name(named):
        raise MCPError(INVALID_PARAMS, f"{named[:100]!r} is no name of a lane")
    return {HEADER: named}
