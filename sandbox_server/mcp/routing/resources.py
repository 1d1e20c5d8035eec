"""Routes `resources/*` and `subscriptions/listen` to the API's resources and to upstream servers, by their own URIs."""

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
from sandbox_server.mcp.routing.uri_templates import matches
from sandbox_server.mcp.servers.upstream import UpstreamServer
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of
from sandbox_server.mcp.tools.results import failure_text
from sandbox_server.mcp.transport.request_context import RequestContext, http_request, identity_headers


class ResourceRouter:
    """Lists, reads and subscribes to resources of the API and of upstream servers.

    A caller whose token lists its tools gets none, because the token grants no resources.
    """

    def __init__(self, api_resources: ApiResources, servers: UpstreamServers) -> None:
        self._api_resources = api_resources
        self._servers = servers
        self._listen = ListenHandler(servers.changes.bus)

    async def list_resources(self, context: RequestContext, _: PaginatedRequestParams | None) -> ListResourcesResult:
        """List all resources."""
        tool_filter, headers = filter_of(http_request(context)), identity_headers(http_request(context))
        if tool_filter.allowed is not None:
            return ListResourcesResult(resources=[])
        upstream = await self._servers.each(self._servers.matching(tool_filter), UpstreamServer.resources)
        return ListResourcesResult(
            resources=[*await self._api_resources.listed(tool_filter, headers), *(each for _, found in upstream for each in found)]
        )

    async def list_templates(self, context: RequestContext, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """List all resource templates."""
        tool_filter = filter_of(http_request(context))
        if tool_filter.allowed is not None:
            return ListResourceTemplatesResult(resource_templates=[])
        upstream = await self._servers.each(self._servers.matching(tool_filter), UpstreamServer.templates)
        found = [*self._api_resources.templates(tool_filter), *(each for _, templates in upstream for each in templates)]
        return ListResourceTemplatesResult(resource_templates=found)

    async def read(self, context: RequestContext, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read a resource from the first server that has it."""
        tool_filter, headers, uri = filter_of(http_request(context)), identity_headers(http_request(context)), str(params.uri)
        try:
            own = None if tool_filter.allowed is not None else await self._api_resources.read(uri, headers)
            upstream = None if own else await self._owner(uri, tool_filter)
            if upstream:
                return await upstream.read(uri)
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure
        if own is None:
            raise MCPError(INVALID_PARAMS, f"Unknown resource: {uri}")
        return own

    async def subscribe(self, context: RequestContext, params: SubscribeRequestParams) -> EmptyResult:
        """Subscribe the session to a resource of an upstream server."""
        subscriptions, upstream = self._servers.changes.subscriptions_of(context), await self._subscribable(context, params.uri)
        if params.uri not in subscriptions:
            await upstream.subscribe(params.uri)
            subscriptions.add(params.uri)
            context.session._connection.exit_stack.push_async_callback(self._unsubscribe, subscriptions, upstream, params.uri)
        return EmptyResult()

    async def unsubscribe(self, context: RequestContext, params: UnsubscribeRequestParams) -> EmptyResult:
        """Unsubscribe the session."""
        subscriptions, upstream = self._servers.changes.subscriptions_of(context), await self._subscribable(context, params.uri)
        await self._unsubscribe(subscriptions, upstream, params.uri)
        return EmptyResult()

    async def listen(self, context: RequestContext, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Stream change notifications as the result of this request, until the client disconnects."""
        uris = params.notifications.resource_subscriptions or []
        async with AsyncExitStack() as stack:
            stack.enter_context(self._servers.changes.listening())
            for uri in dict.fromkeys(uris):
                upstream = await self._subscribable(context, uri)
                await upstream.subscribe(uri)
                stack.callback(self._servers.unsubscribe_later, upstream, uri)
            return await self._listen(context, params)

    async def _unsubscribe(self, subscriptions: set[str], upstream: UpstreamServer, uri: str) -> None:
        if uri in subscriptions:
            subscriptions.discard(uri)
            await upstream.unsubscribe(uri)

    async def _subscribable(self, context: RequestContext, uri: str) -> UpstreamServer:
        try:
            upstream = await self._owner(uri, filter_of(http_request(context)))
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
            if any(matches(template.uri_template, uri) for template in templates):
                return upstream
        return None
