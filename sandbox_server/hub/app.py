"""The composition root of the MCP process: one ASGI application on a socket of its own."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp.server.lowlevel import NotificationOptions, Server
from mcp_types import NotificationParams, SetLevelRequestParams
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox_server.core import logs
from sandbox_server.core.errors import Failure
from sandbox_server.core.http.serving import serve_on
from sandbox_server.core.mcp.api import Api
from sandbox_server.core.mcp.operations import Operations
from sandbox_server.core.mcp.resources import Resources
from sandbox_server.core.mcp.transport import Transport
from sandbox_server.drivers.box import isolation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.ipc.connect_with_retry import RESTART_SECONDS
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.hub.askers import Askers
from sandbox_server.hub.built_in import built_in, recorded
from sandbox_server.hub.connection import connecting
from sandbox_server.hub.inside import Inside
from sandbox_server.hub.lease_check import LeaseCheck
from sandbox_server.hub.log_levels import LogLevels
from sandbox_server.hub.people import People
from sandbox_server.hub.prompts import HubPrompts
from sandbox_server.hub.resources import HubResources
from sandbox_server.hub.servers import Servers
from sandbox_server.hub.sources import Sources
from sandbox_server.hub.tools import Tools
from sandbox_server.settings import Settings

NAME = "tandem"
INSTRUCTIONS = (
    "A Linux computer of your own, shared with a person who may watch and take over. "
    "Call sandbox_get_context first: it says what is installed and where your workspace is."
)
PATHS = ("/mcp", "/v1/mcp")


@dataclass(frozen=True, slots=True)
class Hub:
    """What the process serves besides the API's tools."""

    sources: Sources
    servers: Servers
    asks_clients: bool = True
    """Whether the user of a client may answer in the place of a person on `/view`."""


class HubServer(Server[Any]):
    """A server whose lists change."""

    def create_initialization_options(self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any) -> Any:
        """What a session is told of it when it is opened."""
        changing = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(notification_options or changing, *more, **named)


def build_server(api: Api, hub: Hub, askers: Askers, version: str) -> HubServer:
    """The protocol's side of it."""
    own, servers = Operations(api), hub.servers
    tools = Tools(own, servers, askers, People(own, api) if hub.asks_clients else None)
    resources = HubResources(Resources(api), servers)
    prompts, levels = HubPrompts(servers, askers), askers.levels

    def input_schema(name: str) -> Mapping[str, Any] | None:
        catalog = api.known_catalog()
        return catalog.input_schema(name) if catalog else None

    server = HubServer(
        NAME,
        version=version,
        title="Tandem",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=input_schema,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
        on_subscribe_resource=resources.subscribe,
        on_unsubscribe_resource=resources.unsubscribe,
        on_subscriptions_listen=resources.listen,
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=prompts.get,
        on_completion=prompts.complete,
    )
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, levels.set)
    server.add_notification_handler("notifications/initialized", NotificationParams, servers.changes.joined)
    return server


class _Endpoint:
    """The transport of the running application; a class, so that Starlette hands it every method."""

    transport: Transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.transport(scope, receive, send)


def create_mcp_app(api_socket: str, hub: Hub, version: str) -> Starlette:
    """Make the application; its lifespan opens the connections to the API and ends the sessions."""
    endpoint = _Endpoint()
    app: Starlette

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            api = await stack.enter_async_context(Api.connect(api_socket))
            servers = await stack.enter_async_context(hub.servers.open())
            askers = Askers(LogLevels())
            stack.push_async_callback(askers.close)
            endpoint.transport = Transport(build_server(api, hub, askers, version))
            app.router.routes += Inside(Operations(api), servers, hub.sources).routes()
            await stack.enter_async_context(endpoint.transport.run())
            yield

    app = Starlette(routes=[Route(path, endpoint) for path in PATHS], lifespan=lifespan)
    return app


def serve(settings: Settings, version: str) -> None:
    """Serve on the MCP socket until told to stop."""
    logs.configure(settings.logs.level)
    quiet_library_logs()
    paths = settings.paths
    sources = Sources(built_in(settings), paths.mcp_servers, settings.hub.extra, JsonFile(f"{paths.run}/mcp-servers.json"))
    connect = connecting(Processes(paths.socket("spawn"), RESTART_SECONDS), version)
    wake = partial(thaw, BoxClient(paths.socket("box"), isolation.read(paths.isolation)))
    api = paths.socket("api")
    servers = Servers(sources, connect, idle_seconds=settings.hub.idle, known=recorded(), wake=wake, admit=LeaseCheck(api))
    serve_on(paths.socket("mcp"), create_mcp_app(api, Hub(sources, servers, settings.handoff.asks_clients), version))


async def thaw(box: BoxClient) -> None:
    """Resume a box that is suspended, where there is a box."""
    if box.isolation.level == "box":
        with suppress(Failure):  # its daemon is starting anew, and the box with it
            await box.ask("thaw")


def quiet_library_logs() -> None:
    """The SDK logs a line for each request and session; only its warnings matter here."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
