"""An HTTP client of the API's Unix socket, which calls operations in the name of the tool's caller."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2

from sandbox_server.core.errors import TooLarge, Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.core.results import ABOUT
from sandbox_server.mcp.tools.catalog import ApiTool, ToolCatalog, read_catalog
from sandbox_server.timeouts import scaled

CALL_SECONDS = 24 * 3600.0
"""Limit of one call; operations have shorter limits of their own."""
CONNECT_SECONDS = scaled(5.0)
READ_SECONDS = scaled(30.0)
"""For the OpenAPI document, on a busy machine."""
CATALOG_SECONDS = 30.0
"""How long the catalog is cached; custom tools appear when the API restarts."""
MAX_RESULT_BYTES = 32 * 1024 * 1024
"""Of one result; agents read larger data piece by piece."""
_MAX_CONNECTIONS = 256
_KEPT_HEADERS = ("content-type", "retry-after", ABOUT)
_OWN_HEADERS = Caller("mcp", frozenset({"view"})).headers()


class ApiClient:
    """A connection pool to the API's socket, with the cached tool catalog."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self._catalog: ToolCatalog | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def connect(cls, socket: str) -> AsyncIterator["ApiClient"]:
        """Open the pool; the API may still be starting."""
        limits = httpx2.Limits(max_connections=_MAX_CONNECTIONS, max_keepalive_connections=16, keepalive_expiry=60)
        transport = httpx2.AsyncHTTPTransport(uds=socket, limits=limits)
        timeout = httpx2.Timeout(CALL_SECONDS, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
        async with httpx2.AsyncClient(transport=transport, base_url="http://api", timeout=timeout) as client:
            yield cls(client)

    async def catalog(self) -> ToolCatalog:
        """The current tools, or the last known ones while the API restarts. Raises Unavailable before its first start."""
        async with self._reading:
            if self._catalog is None or time.monotonic() - self._read_at > CATALOG_SECONDS:
                await self._read()
            if self._catalog is None:
                raise Unavailable("the API is starting; try again in a moment")
            return self._catalog

    def known_catalog(self) -> ToolCatalog | None:
        """The tools as last read; None before the first read."""
        return self._catalog

    async def call(self, tool: ApiTool, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> httpx2.Response:
        """Call a tool's operation. Raises Unavailable if the API cannot be reached, TooLarge if the response is over the limit."""
        query = {name: _query_value(arguments[name]) for name in tool.in_query if arguments.get(name) is not None}
        body = {name: value for name, value in arguments.items() if name not in tool.in_path | tool.in_query}
        sent = body if tool.takes_body else None
        return await self.send(tool.verb, _path_with_arguments(tool, arguments), headers, query=query, body=sent, what=tool.name)

    async def send(
        self,
        verb: str,
        path: str,
        headers: Mapping[str, str],
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        what: str = "",
    ) -> httpx2.Response:
        """Send any request and read the whole response; `what` names it in an error. Raises as `call` does."""
        request = self._client.build_request(verb, path, params=query, json=body, headers=dict(headers))
        try:
            response = await self._client.send(request, stream=True)
            try:
                return await _read_whole(response, what or path)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            raise Unavailable(f"the API did not answer: {error or type(error).__name__}") from error

    async def _read(self) -> None:
        try:
            response = await self._client.get(
                "/v1/openapi.json", headers=_OWN_HEADERS, timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
            )
            response.raise_for_status()
        except httpx2.HTTPError:
            return
        self._catalog = read_catalog(response.json())
        self._read_at = time.monotonic()


def _path_with_arguments(tool: ApiTool, arguments: Mapping[str, Any]) -> str:
    return tool.path.format_map({name: quote(str(arguments.get(name, "")), safe="") for name in tool.in_path})


def _query_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_query_value(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else value


async def _read_whole(response: httpx2.Response, what: str) -> httpx2.Response:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_RESULT_BYTES:
            limit, request = f"{MAX_RESULT_BYTES // 2**20} MiB", response.request
            raise TooLarge(f"the result of {what} is over {limit}; ask for less of it, or use {request.method} {request.url.path}")
    headers = {name: response.headers.get(name, "") for name in _KEPT_HEADERS}
    return httpx2.Response(response.status_code, headers=headers, content=bytes(content))
