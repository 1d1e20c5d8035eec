"""The composition root of the MCP process: one ASGI application on `mcp.sock`."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import NotificationOptions, Server
from mcp_types import NotificationParams, SetLevelRequestParams
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox_server.drivers.box import isolation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.clients.agent_network import AgentNetwork
from sandbox_server.drivers.ipc.connect_with_retry import RESTART_SECONDS
from sandbox_server.drivers.ports.agent_ports import agent_ports
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.mcp.client_requests.interactive_calls import InteractiveCalls
from sandbox_server.mcp.internal_api import McpInternalApi
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.resources import ApiResources
from sandbox_server.mcp.routing.prompts import PromptRouter
from sandbox_server.mcp.routing.resources import ResourceRouter
from sandbox_server.mcp.routing.tools import ToolRouter
from sandbox_server.mcp.servers.built_in import built_in, recorded_tools
from sandbox_server.mcp.servers.connection import connector
from sandbox_server.mcp.servers.lease_check import LeaseCheck
from sandbox_server.mcp.servers.registry import ServerRegistry
from sandbox_server.mcp.servers.tool_approval import ToolApproval
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from sandbox_server.mcp.tasks.methods import CAPABILITY, TaskMethods
from sandbox_server.mcp.tasks.store import TaskStore
from sandbox_server.mcp.tasks.task import EXTENSION
from sandbox_server.mcp.tasks.waiting_calls import WaitingCalls
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.api_tools import ApiTools
from sandbox_server.mcp.tools.human_in_the_loop import HumanInTheLoop
from sandbox_server.mcp.transport.streamable_http import StreamableHttpTransport
from sandbox_server.settings import Settings

NAME = "tandem"
INSTRUCTIONS = (
    "A Linux computer of your own, shared with a person who may watch and take over. "
    "Call sandbox_get_context first: it says what is installed and where your workspace is."
)
PATHS = ("/mcp", "/v1/mcp")


@dataclass(frozen=True, slots=True)
class McpParts:
    """The upstream servers, and whether a client's user may answer handoffs."""

    registry: ServerRegistry
    servers: UpstreamServers
    asks_clients: bool = True
    """Whether the client's user may answer `request_human` by elicitation."""


class McpServer(Server[Any]):
    """An SDK server that declares changing lists."""

    def create_initialization_options(self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any) -> Any:
        """Declare `listChanged` for tools, resources and prompts."""
        changing = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        options = super().create_initialization_options(notification_options or changing, *more, **named)
        options.capabilities.tasks = CAPABILITY
        return options


def build_server(api: ApiClient, parts: McpParts, interactive_calls: InteractiveCalls, tasks: TaskStore, version: str) -> McpServer:
    """Build the SDK server with a callback for each method."""
    api_tools, servers = ApiTools(api), parts.servers
    task_methods = TaskMethods(tasks, WaitingCalls(api_tools, api))
    human_in_the_loop = HumanInTheLoop(api_tools, api) if parts.asks_clients else None
    tools = ToolRouter(api_tools, servers, interactive_calls, human_in_the_loop, task_methods)
    resources = ResourceRouter(ApiResources(api), servers)
    prompts, levels = PromptRouter(servers, interactive_calls), interactive_calls.levels

    def input_schema(name: str) -> Mapping[str, Any] | None:
        catalog = api.known_catalog()
        return catalog.input_schema(name) if catalog else None

    server = McpServer(
        NAME,
        version=version,
        title="Tandem",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=input_schema,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,  # type: ignore[arg-type] # a task of the extension is a mapping
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
    server.extensions[EXTENSION] = {}
    task_methods.register(server)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, levels.set)
    server.add_notification_handler("notifications/initialized", NotificationParams, servers.changes.session_opened)
    return server


class _Endpoint:
    """The transport of the running application; a class, so that Starlette passes every HTTP method."""

    transport: StreamableHttpTransport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.transport(scope, receive, send)


def create_mcp_app(api_socket: str, parts: McpParts, version: str) -> Starlette:
    """Make the application. Its lifespan opens the connections to the API and ends the sessions."""
    endpoint = _Endpoint()
    app: Starlette

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            api = await stack.enter_async_context(ApiClient.connect(api_socket))
            servers = await stack.enter_async_context(parts.servers.open())
            interactive_calls = InteractiveCalls(LogLevels())
            stack.push_async_callback(interactive_calls.close)
            tasks = TaskStore()
            stack.push_async_callback(tasks.close)
            endpoint.transport = StreamableHttpTransport(build_server(api, parts, interactive_calls, tasks, version))
            app.router.routes += McpInternalApi(ApiTools(api), servers, parts.registry).routes()
            await stack.enter_async_context(endpoint.transport.run())
            yield

    app = Starlette(routes=[Route(path, endpoint) for path in PATHS], lifespan=lifespan)
    return app


def create(settings: Settings, version: str) -> Starlette:
    """Make the application that the settings ask for."""
    quiet_library_logs()
    paths = settings.paths
    registry = ServerRegistry(built_in(settings), paths.mcp_servers, settings.mcp.extra, JsonFile(f"{paths.run}/mcp-servers.json"))
    found = isolation.read(paths.isolation)
    connect = connector(Processes(paths.socket("spawn"), RESTART_SECONDS), version, agent_network(settings, found))
    wake = BoxClient(paths.socket("box"), found).resume
    api = paths.socket("api")
    servers = UpstreamServers(
        registry,
        connect,
        idle_seconds=settings.mcp.idle,
        recorded_tools=recorded_tools(),
        wake=wake,
        admit=LeaseCheck(api),
        approve=ToolApproval(api),
    )
    return create_mcp_app(api, McpParts(registry, servers, settings.handoff.asks_clients), version)


def agent_network(settings: Settings, found: isolation.Isolation) -> AgentNetwork | None:
    """Return how URLs are reached, where a policy decides on that."""
    if found.egress == "off":
        return None
    paths = settings.paths
    return AgentNetwork(paths.egress_socket("fetches"), paths.socket("box-dial"), agent_ports(settings, found))


def quiet_library_logs() -> None:
    """Log only warnings of the SDK, which logs a line for each request and session."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
