"""Prompts of the servers behind the hub, under names that begin with their server's, and what completes their arguments."""

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
from sandbox_server.mcp.tools.api_tools import Context, request_of
from sandbox_server.mcp.tools.results import failure_text


class PromptRouter:
    """Answers `prompts/list`, `prompts/get` and `completion/complete`.

    A caller whose token names its tools gets none: prompts are not among what it was given.
    """

    def __init__(self, servers: UpstreamServers, interactive_calls: InteractiveCalls) -> None:
        self._servers = servers
        self._interactive_calls = interactive_calls

    async def list_prompts(self, context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        """List the prompts of every server that works; where two have one name, the first is listed."""
        found: dict[str, Prompt] = {}
        for upstream, prompts in await self._servers.each(self._upstreams(context), UpstreamServer.prompts):
            for prompt in prompts:
                found.setdefault(_named(upstream, prompt.name), prompt.model_copy(update={"name": _named(upstream, prompt.name)}))
        return ListPromptsResult(prompts=list(found.values()))

    async def get(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        """Make one."""

        async def made(calling_client: CallingClient) -> GetPromptResult:
            upstream, name = await self._found(context, params.name)
            return await upstream.prompt(name, params.arguments, calling_client)

        try:
            return await self._interactive_calls.serve(context, params, made)
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument of a prompt, or of an address' shape; with nothing where nobody can."""
        try:
            if not isinstance(params.ref, PromptReference):
                shape = params.ref.uri
                for upstream, templates in await self._servers.each(self._upstreams(context), UpstreamServer.templates):
                    if any(template.uri_template == shape for template in templates):
                        return await upstream.complete(params)
                return CompleteResult(completion=Completion(values=[]))
            upstream, name = await self._found(context, params.ref.name)
            return await upstream.complete(params.model_copy(update={"ref": params.ref.model_copy(update={"name": name})}))
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure

    async def _found(self, context: Context, name: str) -> tuple[UpstreamServer, str]:
        """The server of a prompt, and how it is called there."""
        upstreams = [upstream for upstream in self._upstreams(context) if name.startswith(prefix_of(upstream))]
        for upstream in sorted(upstreams, key=lambda each: -len(prefix_of(each))):
            for prompt in await upstream.prompts():
                if _named(upstream, prompt.name) == name:
                    return upstream, prompt.name
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")

    def _upstreams(self, context: Context) -> list[UpstreamServer]:
        tool_filter: ToolFilter = filter_of(request_of(context))
        return [] if tool_filter.allowed is not None else self._servers.matching(tool_filter)


def _named(upstream: UpstreamServer, name: str) -> str:
    prefix = prefix_of(upstream)
    return name if name.startswith(prefix) else f"{prefix}{name}"
