"""The control lease check for upstream servers: none is started or called while a person holds the shells.

They are the agent's programs. A tool's `readOnlyHint` is no exception, because its server is untrusted.
"""

import asyncio

import orjson

from sandbox_server.core.control import Holding
from sandbox_server.core.errors import HeldByHuman, Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.drivers.ipc.unix_http import exchange
from sandbox_server.timeouts import scaled

ANSWER_SECONDS = scaled(10.0)
RETRY_AFTER = 1.0
HINT = "Running servers continue their calls. GET /v1/control tells who has the shells, POST /v1/control/request asks for them."

_A_PROGRAM = Caller("a program")
_HEADERS = Caller("mcp", frozenset({"view"})).headers()


class LeaseCheck:
    """Asks the API's socket who has the shells. An unknown holder counts as a person."""

    def __init__(self, api_socket: str) -> None:
        self._socket = api_socket

    async def __call__(self) -> None:
        """Raise HeldByHuman while a person holds the shells or all is paused, and Unavailable while the holder is unknown."""
        holding = await self._holding()
        if not holding.admits(_A_PROGRAM, "shell"):
            refusal = holding.refusal()
            raise HeldByHuman(refusal.message, hint=HINT, **refusal.details)  # type: ignore[arg-type] # none is named like a parameter

    async def _holding(self) -> Holding:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                _, answer = await exchange(self._socket, "GET", "/v1/control", b"", _HEADERS)
            lease = orjson.loads(answer)["data"]
            return Holding.loads({**lease, "reach": lease["scope"]})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(
                "the holder of the control lease is unknown: the MCP server was not called", retry_after=RETRY_AFTER
            ) from error
