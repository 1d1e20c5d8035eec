"""Routes `prompts/list`, `prompts/get` and `completion/complete` to upstream servers, under prefixed names."""

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptReference,
)

from sandbox_server.core.errors import Failure
from sandbox_server.mcp.client_requests.clients import CallingClient
from sandbox_server.mcp.client_requests.interactive_calls import InteractiveCalls
from sandbox_server.mcp.servers.upstream import UpstreamServer
from sandbox_server.mcp.servers.upstreams import UpstreamServers, prefix_of
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of
from sandbox_server.mcp.tools.results import failure_text
from sandbox_server.mcp.transport.request_context import RequestContext, http_request


class PromptRouter:
    """Lists, gets and completes the prompts of upstream servers.

    A caller whose token lists its tools gets none, because the token grants no prompts.
    """

    def __init__(self, servers: UpstreamServers, interactive_calls: InteractiveCalls) -> None:
        self._servers = servers
        self._interactive_calls = interactive_calls

    async def list_prompts(self, context: RequestContext, _: PaginatedRequestParams | None) -> ListPromptsResult:
        """List the prompts of every running server. Of two prompts with one name the first is listed."""
        found: dict[str, Prompt] = {}
        for upstream, prompts in await self._servers.each(self._upstreams(context), UpstreamServer.prompts):
            for prompt in prompts:
                found.setdefault(_prefixed(upstream, prompt.name), prompt.model_copy(update={"name": _prefixed(upstream, prompt.name)}))
        return ListPromptsResult(prompts=list(found.values()))

    async def get(self, context: RequestContext, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        """Get one prompt."""

        async def get_prompt(calling_client: CallingClient) -> GetPromptResult:
            upstream, name = await self._server_of_prompt(context, params.name)
            return await upstream.prompt(name, params.arguments, calling_client)

        try:
            return await self._interactive_calls.run(context, params, get_prompt)
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure

    async def complete(self, context: RequestContext, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument of a prompt or a URI template; empty if no server can."""
        try:
            if not isinstance(params.ref, PromptReference):
                uri_template = params.ref.uri
                for upstream, templates in await self._servers.each(self._upstreams(context), UpstreamServer.templates):
                    if any(template.uri_template == uri_template for template in templates):
                        return await upstream.complete(params)
                return CompleteResult(completion=Completion(values=[]))
            upstream, name = await self._server_of_prompt(context, params.ref.name)
            return await upstream.complete(params.model_copy(update={"ref": params.ref.model_copy(update={"name": name})}))
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure

    async def _server_of_prompt(self, context: RequestContext, name: str) -> tuple[UpstreamServer, str]:
        """The server of a prompt, and the prompt's name at the server."""
        upstreams = [upstream for upstream in self._upstreams(context) if name.startswith(prefix_of(upstream))]
        for upstream in sorted(upstreams, key=lambda each: -len(prefix_of(each))):
            for prompt in await upstream.prompts():
                if _prefixed(upstream, prompt.name) == name:
                    return upstream, prompt.name
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")

    def _upstreams(self, context: RequestContext) -> list[UpstreamServer]:
        tool_filter: ToolFilter = filter_of(http_request(context))
        return [] if tool_filter.allowed is not None else self._servers.matching(tool_filter)


def _prefixed(upstream: UpstreamServer, name: str) -> str:
    prefix = prefix_of(upstream)
    return name if name.startswith(prefix) else f"{prefix}{name}"
