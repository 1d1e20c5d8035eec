"""Log messages of upstream servers: the level that each client wants."""

from collections import OrderedDict
from typing import get_args

from mcp.server.connection import allowed_log_levels
from mcp_types import EmptyResult, LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams, SetLevelRequestParams

from sandbox_server.mcp.transport.request_context import RequestContext, http_request
from sandbox_server.mcp.transport.sessions import MAX_SESSIONS

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)


class LogLevels:
    """The log level of each session that set one. From 2026-07-28 on each request carries its own."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, LoggingLevel] = OrderedDict()

    async def set(self, context: RequestContext, params: SetLevelRequestParams) -> EmptyResult:
        """Set the level of a session: `logging/setLevel`."""
        session = http_request(context).headers.get("mcp-session-id", "")
        self._levels[session] = params.level
        self._levels.move_to_end(session)
        if len(self._levels) > MAX_SESSIONS:
            self._levels.popitem(last=False)
        return EmptyResult()

    def wanted(self, context: RequestContext) -> frozenset[LoggingLevel]:
        """The levels that the client of a call wants; all of them if it never set one."""
        allowed = allowed_log_levels(context.protocol_version, context.meta)
        session = http_request(context).headers.get("mcp-session-id", "")
        lowest = self._levels.get(session) if session else None
        return allowed & frozenset(LEVELS[LEVELS.index(lowest) :]) if lowest else allowed


async def send_log(context: RequestContext, levels: LogLevels, entry: LoggingMessageNotificationParams) -> None:
    """Send a log message on a call's stream, if its client wants that level."""
    if entry.level in levels.wanted(context):
        await context.session.send_notification(LoggingMessageNotification(params=entry), related_request_id=context.request_id)
