"""Resources of the hub: the sandbox's own and those of the servers behind it, under the addresses that their servers give them."""

from contextlib import AsyncExitStack

from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from sandbox_server.core.errors import Failure
from sandbox_server.mcp.resources import ApiResources
from sandbox_server.mcp.servers.upstream import UpstreamServer
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of
from sandbox_server.mcp.tools.api_tools import Context, forwarded, request_of
from sandbox_server.mcp.tools.results import failure_text


class ResourceRouter:
    """Answers everything of `resources/`, and `subscriptions/listen`.

    A caller whose token names its tools gets none: resources are not among what it was given.
    """

    def __init__(self, own: ApiResources, servers: UpstreamServers) -> None:
        self._own = own
        self._servers = servers
        self._listen = ListenHandler(servers.changes.bus)

    async def list_resources(self, context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        """List what there is to read."""
        tool_filter, headers = filter_of(request_of(context)), forwarded(request_of(context))
        if tool_filter.allowed is not None:
            return ListResourcesResult(resources=[])
        foreign = await self._servers.each(self._servers.matching(tool_filter), UpstreamServer.resources)
        return ListResourcesResult(
            resources=[*await self._own.listed(tool_filter, headers), *(each for _, found in foreign for each in found)]
        )

    async def list_templates(self, context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """List the shapes of addresses."""
        tool_filter = filter_of(request_of(context))
        if tool_filter.allowed is not None:
            return ListResourceTemplatesResult(resource_templates=[])
        foreign = await self._servers.each(self._servers.matching(tool_filter), UpstreamServer.templates)
        found = [*self._own.templates(tool_filter), *(each for _, templates in foreign for each in templates)]
        return ListResourceTemplatesResult(resource_templates=found)

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read one, of the first server that has it."""
        tool_filter, headers, uri = filter_of(request_of(context)), forwarded(request_of(context)), str(params.uri)
        try:
            own = None if tool_filter.allowed is not None else await self._own.read(uri, headers)
            upstream = None if own else await self._owner(uri, tool_filter)
            if upstream:
                return await upstream.read(uri)
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure
        if own is None:
            raise MCPError(INVALID_PARAMS, f"Unknown resource: {uri}")
        return own

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        """Have the session told when a resource of a server changes."""
        followed, upstream = self._servers.changes.followed(context), await self._followable(context, params.uri)
        if params.uri not in followed:
            await upstream.follow(params.uri)
            followed.add(params.uri)
            context.session._connection.exit_stack.push_async_callback(self._unfollow, followed, upstream, params.uri)
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """Have it told no more."""
        followed, upstream = self._servers.changes.followed(context), await self._followable(context, params.uri)
        await self._unfollow(followed, upstream, params.uri)
        return EmptyResult()

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Tell on this request's stream what changes, for as long as the client reads it."""
        addresses = params.notifications.resource_subscriptions or []
        async with AsyncExitStack() as stack:
            stack.enter_context(self._servers.changes.listening())
            for uri in dict.fromkeys(addresses):
                upstream = await self._followable(context, uri)
                await upstream.follow(uri)
                stack.callback(self._servers.later, upstream, uri)
            return await self._listen(context, params)

    async def _unfollow(self, followed: set[str], upstream: UpstreamServer, uri: str) -> None:
        if uri in followed:
            followed.discard(uri)
            await upstream.unfollow(uri)

    async def _followable(self, context: Context, uri: str) -> UpstreamServer:
        try:
            upstream = await self._owner(uri, filter_of(request_of(context)))
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure
        if upstream is None:
            raise MCPError(INVALID_PARAMS, f"no server tells when this resource changes: {uri}")
        return upstream

    async def _owner(self, uri: str, tool_filter: ToolFilter) -> UpstreamServer | None:
        if tool_filter.allowed is not None:
            return None
        upstreams = self._servers.matching(tool_filter)
        for upstream, resources in await self._servers.each(upstreams, UpstreamServer.resources):
            if any(str(resource.uri) == uri for resource in resources):
                return upstream
        for upstream, templates in await self._servers.each(upstreams, UpstreamServer.templates):
            if any(_fits(template.uri_template, uri) for template in templates):
                return upstream
        return None


def _fits(template: str, uri: str) -> bool:
    """Whether an address may be one of a template's (RFC 6570), each variable a character or more: its server says whether it is."""
    first, *literals = _literals(template)
    if not literals or not uri.startswith(first):
        return not literals and uri == first
    position = len(first)
    for literal in literals[:-1]:
        found = uri.find(literal, position + 1)
        if found < 0:
            return False
        position = found + len(literal)
    return uri.endswith(literals[-1]) and len(uri) - len(literals[-1]) > position


def _literals(template: str) -> list[str]:
    """What stands before, between and after the variables."""
    made, position = [""], 0
    while (opened := template.find("{", position)) >= 0 and (closed := template.find("}", opened)) >= 0:
        made[-1] += template[position:opened]
        made.append("")
        position = closed + 1
    made[-1] += template[position:]
    return made
