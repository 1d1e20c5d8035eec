"""The MCP process: one ASGI application on a socket of its own."""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox_server.core.mcp.api import Api
from sandbox_server.core.mcp.server import Tools, build_server, quiet_library_logs
from sandbox_server.core.mcp.transport import Transport

PATHS = ("/mcp", "/v1/mcp")
SHUTDOWN_SECONDS = 3
"""How long open calls may take to end once the server is told to stop."""
IDLE_SECONDS = 75
"""An idle connection stays open this long: longer than the gateway keeps it, so that no request meets a closing one."""


class _Endpoint:
    """The transport of the running application; a class, so that Starlette hands it every method."""

    transport: Transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.transport(scope, receive, send)


def create_mcp_app(api_socket: str, version: str) -> Starlette:
    """Make the application; its lifespan opens the connections to the API and ends the sessions."""
    endpoint = _Endpoint()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            api = await stack.enter_async_context(Api.connect(api_socket))
            endpoint.transport = Transport(build_server(Tools(api), api, version))
            await stack.enter_async_context(endpoint.transport.run())
            yield

    return Starlette(routes=[Route(path, endpoint) for path in PATHS], lifespan=lifespan)


def serve(*, api_socket: str, mcp_socket: str, version: str, log_level: str) -> None:
    """Serve on the MCP socket until told to stop."""
    logging.basicConfig(stream=sys.stdout, level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    quiet_library_logs()
    config = uvicorn.Config(
        create_mcp_app(api_socket, version),
        uds=mcp_socket,
        loop="uvloop",
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    uvicorn.Server(config).run()
