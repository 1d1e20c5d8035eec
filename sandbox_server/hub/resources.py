"""Resources of the hub: the sandbox's own and those of the servers behind it, under the addresses that their servers give them."""

import re

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from sandbox_server.core.errors import Failure
from sandbox_server.core.mcp.operations import Context, forwarded, request_of
from sandbox_server.core.mcp.resources import Resources
from sandbox_server.core.mcp.results import failure_text
from sandbox_server.core.mcp.view import View, view_of
from sandbox_server.hub.servers import Servers
from sandbox_server.hub.upstream import Upstream

_VARIABLE = re.compile(r"\\\{[^}]*\\\}")


class HubResources:
    """Answers `resources/list`, `resources/templates/list` and `resources/read`.

    A caller whose token names its tools gets none: resources are not among what it was given.
    """

    def __init__(self, own: Resources, servers: Servers) -> None:
        self._own = own
        self._servers = servers

    async def list_resources(self, context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        """List what there is to read."""
        view, headers = view_of(request_of(context)), forwarded(request_of(context))
        if view.allowed is not None:
            return ListResourcesResult(resources=[])
        foreign = await self._servers.each(self._servers.in_view(view), Upstream.resources)
        return ListResourcesResult(resources=[*await self._own.listed(view, headers), *(each for _, found in foreign for each in found)])

    async def list_templates(self, context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """List the shapes of addresses."""
        view = view_of(request_of(context))
        if view.allowed is not None:
            return ListResourceTemplatesResult(resource_templates=[])
        foreign = await self._servers.each(self._servers.in_view(view), Upstream.templates)
        found = [*self._own.templates(view), *(each for _, templates in foreign for each in templates)]
        return ListResourceTemplatesResult(resource_templates=found)

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read one, of the first server that has it."""
        view, headers, uri = view_of(request_of(context)), forwarded(request_of(context)), str(params.uri)
        try:
            own = None if view.allowed is not None else await self._own.read(uri, headers)
            upstream = None if own else await self._owner(uri, view)
            if upstream:
                return await upstream.read(uri)
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure
        if own is None:
            raise MCPError(INVALID_PARAMS, f"Unknown resource: {uri}")
        return own

    async def _owner(self, uri: str, view: View) -> Upstream | None:
        if view.allowed is not None:
            return None
        upstreams = self._servers.in_view(view)
        for upstream, resources in await self._servers.each(upstreams, Upstream.resources):
            if any(str(resource.uri) == uri for resource in resources):
                return upstream
        for upstream, templates in await self._servers.each(upstreams, Upstream.templates):
            if any(_fits(template.uri_template, uri) for template in templates):
                return upstream
        return None


def _fits(template: str, uri: str) -> bool:
    """Whether an address may be one of a template's (RFC 6570): its server says whether it is."""
    return re.fullmatch(_VARIABLE.sub(".+", re.escape(template)), uri) is not None
