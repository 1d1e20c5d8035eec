"""What a caller's programs were refused, for callers who run them in another way than by an operation, such as tools of MCP servers."""

from typing import Annotated

from pydantic import Field

from sandbox_server.core import Call, Model, operation
from sandbox_server.features.egress.hints import EgressHints


class BlockedSince(Model):
    since: Annotated[float, Field(ge=0)]
    """When the program was started, in seconds since the epoch."""


class BlockedNotice(Model):
    blocked: str | None
    """A sentence about the connections that were refused; null if none was that the caller has not heard of."""


class BlockedConnections:
    """Tells callers what they would hear in the next answer's hint."""

    tag = "egress"

    def __init__(self, hints: EgressHints) -> None:
        self._hints = hints

    @operation("GET /v1/egress/blocked", scope="view")
    async def blocked_connections(self, request: BlockedSince, call: Call) -> BlockedNotice:
        """Say, once, which connections of programs were refused since a time.

        The answers of operations that run programs say so by themselves.
        """
        return BlockedNotice(blocked=self._hints.since(call.caller.name, request.since))
