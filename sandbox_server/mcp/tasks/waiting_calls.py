"""The calls that may run as tasks: a request to a person, and a command in the shell. To cancel one ends what it began."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult
from starlette.requests import Request

from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.core.tasks import start_task
from sandbox_server.mcp.tasks.store import Note
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.api_tools import ApiTools
from sandbox_server.mcp.tools.catalog import ApiTool
from sandbox_server.mcp.tools.human_in_the_loop import MAX_SECONDS, REQUEST, WAIT
from sandbox_server.mcp.tools.results import failed_result, failure_text, result_of
from sandbox_server.mcp.transport.request_context import identity_headers

COMMAND = "sandbox_execute_bash"
TASK_TOOLS = frozenset({REQUEST, COMMAND})
"""The tools whose calls may run as tasks."""
SYNCHRONOUS_SECONDS = 30.0
"""A call that waits no longer than this is no task unless its client asks for one."""
KEPT_SECONDS = 3600.0
"""How long a task is kept after the latest end of its call, unless its client names a time."""
RETRY_SECONDS = 1.0
"""Between two attempts to reach the API, which may restart while a person thinks."""
_DEADLINE, _TIMEOUT = 3600.0, 30.0
"""The defaults of a request's deadline and of a command's timeout, in seconds."""

_UNREASONABLE = 1e9

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WaitingCalls:
    """Runs the calls of TASK_TOOLS to their end."""

    own: ApiTools
    api: ApiClient

    async def may_run(self, tool: ApiTool, tool_filter: ToolFilter) -> bool:
        """Whether a caller's call of a tool may be a task.

        A caller whose token lists its tools may neither wait for nor withdraw a request to a person.
        """
        if tool.name == REQUEST:
            return tool_filter.allowed is None and await self.own.find(WAIT, ToolFilter(tool_filter.scopes)) is not None
        return tool.name in TASK_TOOLS

    async def run(self, request: Request, tool: ApiTool, arguments: Mapping[str, Any], note: Note) -> CallToolResult:
        """Run a call. Every failure is an error result that the agent can read."""
        if tool.name == REQUEST:
            return await self._ask(request, tool, arguments, note)
        note("The command runs.")
        return await self.own.call(request, tool, arguments, ends_with_caller=True)

    async def _ask(self, request: Request, tool: ApiTool, arguments: Mapping[str, Any], note: Note) -> CallToolResult:
        wait = arguments.get("wait")
        if wait is not None and not (_number(wait) <= MAX_SECONDS and (_number(wait) or wait == 0)):
            return await self.own.call(request, tool, arguments)  # which says what is wrong with it
        asking = start_task(self.own.call(request, tool, {**arguments, "wait": 0}))
        asked: CallToolResult | None = None
        try:
            asked = await asyncio.shield(asking)
            handoff = asked.structured_content or {}
            if asked.is_error or handoff.get("status") == "closed":
                return asked
            note(f"A person was asked: {handoff['id']} is open.")
            return await self._answer(request, handoff["id"], seconds_of(tool.name, arguments))
        except asyncio.CancelledError:
            await self._withdraw(request, asked or await asking)
            raise

    async def _answer(self, request: Request, handoff: str, seconds: float) -> CallToolResult:
        waits = await self.own.find(WAIT, ToolFilter(frozenset({"view"})))
        if waits is None:
            return failed_result(f"there is no tool {WAIT}")
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            left = max(0.0, until - loop.time())
            try:
                given = {"id": handoff, "wait": min(left, MAX_SECONDS)}
                found = result_of(waits, await self.api.call(waits, given, identity_headers(request)))
            except Unavailable as failure:
                if not left:
                    return failed_result(failure_text(failure))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except Failure as failure:
                return failed_result(failure_text(failure))
            if found.is_error or (found.structured_content or {}).get("status") == "closed" or not left:
                return found

    async def _withdraw(self, request: Request, asked: CallToolResult) -> None:
        handoff = (asked.structured_content or {}).get("id")
        if asked.is_error or not handoff:
            return
        try:
            await self.api.send("DELETE", f"/v1/handoffs/{handoff}", identity_headers(request), what=REQUEST)
        except Failure as failure:
            _log.warning("the request %s to a person is not withdrawn: %s", handoff, failure.message)


def seconds_of(name: str, arguments: Mapping[str, Any]) -> float:
    """How long a call may wait: for a person until the deadline, unless `wait` says less; for a command its `timeout`."""
    if name == REQUEST:
        return _number(arguments.get("wait")) or _number(arguments.get("deadline")) or _DEADLINE
    return _TIMEOUT if arguments.get("timeout") is None else _number(arguments["timeout"])


def waits_long(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a call waits so long that it becomes a task where the server decides."""
    if name == REQUEST:
        return _number(arguments.get("wait")) > SYNCHRONOUS_SECONDS
    return arguments.get("run_in_background") is not True and seconds_of(name, arguments) > SYNCHRONOUS_SECONDS


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _UNREASONABLE else 0.0
