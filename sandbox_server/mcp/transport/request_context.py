"""The HTTP request behind an MCP message, and the identity headers that it carries to the API."""

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from starlette.requests import Request

_FORWARDED = ("x-sandbox-caller", "x-sandbox-scopes", "x-sandbox-tools", "x-request-id", "x-forwarded-host", "x-forwarded-proto", "host")

type RequestContext = ServerRequestContext[Any, Request]


def http_request(context: RequestContext) -> Request:
    """The HTTP request that carried an MCP message. Raises MCPError if there is none."""
    if context.request is None:
        raise MCPError(INTERNAL_ERROR, "the call came without its request")
    return context.request


def identity_headers(request: Request) -> dict[str, str]:
    """The headers that name the caller and its origin, with the surface `mcp`, for which the API is strict about fields."""
    headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
    return {**headers, "x-sandbox-surface": "mcp"}
