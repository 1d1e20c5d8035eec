"""Every call gets the way to ask its client that the client's protocol version has."""

from collections.abc import Awaitable, Callable

from mcp_types import InputRequiredResult, InputResponseRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sandbox_server.mcp.client_requests.clients import CallingClient, SessionClient
from sandbox_server.mcp.client_requests.multi_round_trip import MultiRoundTripCalls
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.tools.api_tools import Context


class InteractiveCalls:
    """Gives work its asker; end what waits for clients with `close`."""

    def __init__(self, levels: LogLevels) -> None:
        self.levels = levels
        self._rounds = MultiRoundTripCalls(levels)

    async def serve[R](
        self, context: Context, params: InputResponseRequestParams, work: Callable[[CallingClient], Awaitable[R]]
    ) -> R | InputRequiredResult:
        """Do the work of one request. Raises as the work does."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._rounds.serve(context, params, work)
        return await work(SessionClient(context, self.levels))

    async def close(self) -> None:
        """End every call that waits for its client."""
        await self._rounds.close()
