"""Approval of tools of upstream servers: the API's gate decides on each call, and may ask a person."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from sandbox_server.core.approval import ApprovalDenied
from sandbox_server.core.errors import Unavailable
from sandbox_server.core.identity import SERVER, Caller
from sandbox_server.drivers.ipc.unix_http import exchange

ANSWER_SECONDS = 3660.0
"""Longer than a person may take."""
PATH = "/v1/approvals/tool"

type ApproveTool = Callable[[Mapping[str, str], str, str, str, Mapping[str, Any]], Awaitable[None]]
"""Takes the identity headers of a call, the server, its tool, the tool's name at `/mcp`, and the arguments."""


async def approved(headers: Mapping[str, str], server: str, tool: str, name: str, arguments: Mapping[str, Any]) -> None:
    """Approve every call."""


class ToolApproval:
    """Asks the API's socket. Without an answer no tool is called."""

    def __init__(self, api_socket: str) -> None:
        self._socket = api_socket

    async def __call__(self, headers: Mapping[str, str], server: str, tool: str, name: str, arguments: Mapping[str, Any]) -> None:
        """Return if the tool may be called. Raises ApprovalDenied, and Unavailable if that is not known."""
        caller = Caller.from_headers(headers)
        if caller is None:
            raise Unavailable("the call names no caller: the tool was not called")
        asking = replace(caller, scopes=caller.scopes | {SERVER}, tools=None, person=False).headers()
        content = orjson.dumps({"server": server, "tool": tool, "name": name, "arguments": dict(arguments)})
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, answer = await exchange(self._socket, "POST", PATH, content, {"Content-Type": "application/json", **asking})
        except (OSError, ValueError) as error:
            raise Unavailable("whether the tool may be called is unknown: it was not called", retry_after=1.0) from error
        if status != 200:
            raise _failure(status, answer)


def _failure(status: int, answer: bytes) -> ApprovalDenied | Unavailable:
    try:
        told = orjson.loads(answer)
        message, hint = str(told["message"]), told.get("hint")
    except (ValueError, KeyError, TypeError, AttributeError):
        message, hint = f"the API answered {status}", None
    if status == 403:
        return ApprovalDenied(message, hint=hint)
    return Unavailable(f"whether the tool may be called is unknown: {message}", retry_after=1.0)
