"""The MCP process: one ASGI application on a socket of its own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox_server.core import logs
from sandbox_server.core.http.serving import serve_on
from sandbox_server.core.mcp.api import Api
from sandbox_server.core.mcp.server import Tools, build_server, quiet_library_logs
from sandbox_server.core.mcp.transport import Transport

PATHS = ("/mcp", "/v1/mcp")


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
    logs.configure(log_level)
    quiet_library_logs()
    serve_on(mcp_socket, create_mcp_app(api_socket, version))
