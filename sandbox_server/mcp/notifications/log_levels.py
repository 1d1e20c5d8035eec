"""Which log messages of servers behind the hub each client wants."""

from collections import OrderedDict
from typing import get_args

from mcp.server.connection import allowed_log_levels
from mcp_types import EmptyResult, LoggingLevel, SetLevelRequestParams

from sandbox_server.mcp.tools.api_tools import Context, request_of
from sandbox_server.mcp.transport.sessions import MAX_SESSIONS

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)


class LogLevels:
    """The level of each session that set one; from 2026-07-28 on each request says it by itself."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, LoggingLevel] = OrderedDict()

    async def set(self, context: Context, params: SetLevelRequestParams) -> EmptyResult:
        """Note it for the session."""
        session = request_of(context).headers.get("mcp-session-id", "")
        self._levels[session] = params.level
        self._levels.move_to_end(session)
        if len(self._levels) > MAX_SESSIONS:
            self._levels.popitem(last=False)
        return EmptyResult()

    def wanted(self, context: Context) -> frozenset[LoggingLevel]:
        """The levels that the client of a call wants, all of them where it never said."""
        allowed = allowed_log_levels(context.protocol_version, context.meta)
        session = request_of(context).headers.get("mcp-session-id", "")
        lowest = self._levels.get(session) if session else None
        return allowed & frozenset(LEVELS[LEVELS.index(lowest) :]) if lowest else allowed
