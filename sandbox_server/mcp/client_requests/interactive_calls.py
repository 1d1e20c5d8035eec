"""Runs calls that may send requests to their client, in the way of the client's protocol version."""

from collections.abc import Awaitable, Callable

from mcp_types import InputRequiredResult, InputResponseRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sandbox_server.mcp.client_requests.clients import CallingClient, SessionClient
from sandbox_server.mcp.client_requests.multi_round_trip import MultiRoundTripCalls
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.transport.request_context import RequestContext


class InteractiveCalls:
    """Calls by session or by multi-round trips. `close` ends the calls that wait for their clients."""

    def __init__(self, levels: LogLevels) -> None:
        self.levels = levels
        self._multi_round_trip = MultiRoundTripCalls(levels)

    async def run[R](
        self, context: RequestContext, params: InputResponseRequestParams, work: Callable[[CallingClient], Awaitable[R]]
    ) -> R | InputRequiredResult:
        """Run the work of one call with its client. Raises as the work does."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._multi_round_trip.run(context, params, work)
        return await work(SessionClient(context, self.levels))

    async def close(self) -> None:
        """Cancel every call that waits for its client."""
        await self._multi_round_trip.close()
