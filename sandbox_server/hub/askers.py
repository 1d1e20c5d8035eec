"""Every call gets the way to ask its client that the client's protocol version has."""

from collections.abc import Awaitable, Callable

from mcp_types import InputRequiredResult, InputResponseRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sandbox_server.core.mcp.operations import Context
from sandbox_server.hub.asking import Asker, SessionAsker
from sandbox_server.hub.log_levels import LogLevels
from sandbox_server.hub.rounds import Rounds


class Askers:
    """Gives work its asker; end what waits for clients with `close`."""

    def __init__(self, levels: LogLevels) -> None:
        self.levels = levels
        self._rounds = Rounds(levels)

    async def serve[R](
        self, context: Context, params: InputResponseRequestParams, work: Callable[[Asker], Awaitable[R]]
    ) -> R | InputRequiredResult:
        """Do the work of one request. Raises as the work does."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._rounds.serve(context, params, work)
        return await work(SessionAsker(context, self.levels))

    async def close(self) -> None:
        """End every call that waits for its client."""
        await self._rounds.close()
