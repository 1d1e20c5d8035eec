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
from sandbox_server.core.mcp.operations import Context, request_of
from sandbox_server.core.mcp.results import failure_text
from sandbox_server.core.mcp.view import View, view_of
from sandbox_server.hub.askers import Askers
from sandbox_server.hub.asking import Asker
from sandbox_server.hub.servers import Servers, prefix_of
from sandbox_server.hub.upstream import Upstream


class HubPrompts:
    """Answers `prompts/list`, `prompts/get` and `completion/complete`.

    A caller whose token names its tools gets none: prompts are not among what it was given.
    """

    def __init__(self, servers: Servers, askers: Askers) -> None:
        self._servers = servers
        self._askers = askers

    async def list_prompts(self, context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        """List the prompts of every server that works; where two have one name, the first is listed."""
        found: dict[str, Prompt] = {}
        for upstream, prompts in await self._servers.each(self._upstreams(context), Upstream.prompts):
            for prompt in prompts:
                found.setdefault(_named(upstream, prompt.name), prompt.model_copy(update={"name": _named(upstream, prompt.name)}))
        return ListPromptsResult(prompts=list(found.values()))

    async def get(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        """Make one."""

        async def made(asker: Asker) -> GetPromptResult:
            upstream, name = await self._found(context, params.name)
            return await upstream.prompt(name, params.arguments, asker)

        try:
            return await self._askers.serve(context, params, made)
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument of a prompt, or of an address' shape; with nothing where nobody can."""
        try:
            if not isinstance(params.ref, PromptReference):
                shape = params.ref.uri
                for upstream, templates in await self._servers.each(self._upstreams(context), Upstream.templates):
                    if any(template.uri_template == shape for template in templates):
                        return await upstream.complete(params)
                return CompleteResult(completion=Completion(values=[]))
            upstream, name = await self._found(context, params.ref.name)
            return await upstream.complete(params.model_copy(update={"ref": params.ref.model_copy(update={"name": name})}))
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure_text(failure)) from failure

    async def _found(self, context: Context, name: str) -> tuple[Upstream, str]:
        """The server of a prompt, and how it is called there."""
        upstreams = [upstream for upstream in self._upstreams(context) if name.startswith(prefix_of(upstream))]
        for upstream in sorted(upstreams, key=lambda each: -len(prefix_of(each))):
            for prompt in await upstream.prompts():
                if _named(upstream, prompt.name) == name:
                    return upstream, prompt.name
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")

    def _upstreams(self, context: Context) -> list[Upstream]:
        view: View = view_of(request_of(context))
        return [] if view.allowed is not None else self._servers.in_view(view)


def _named(upstream: Upstream, name: str) -> str:
    prefix = prefix_of(upstream)
    return name if name.startswith(prefix) else f"{prefix}{name}"
