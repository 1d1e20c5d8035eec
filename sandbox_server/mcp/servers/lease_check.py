"""Whether servers may be asked now: they are programs of the agent's, which nobody starts or feeds while a person holds the shells.

A tool's own word that it only reads is no reason to ask it: its server is the agent's, and says what it likes.
"""

import asyncio

import orjson

from sandbox_server.core.control import Holding
from sandbox_server.core.errors import HeldByHuman, Unavailable
from sandbox_server.core.results import Caller
from sandbox_server.drivers.ipc.unix_http import exchange

ANSWER_SECONDS = 10.0
RETRY_AFTER = 1.0
HINT = "Servers that run go on with what they do. GET /v1/control tells who has the shells, POST /v1/control/request asks for them."

_A_PROGRAM = Caller("a program")
_HEADERS = {"X-Sandbox-Caller": "mcp", "X-Sandbox-Scopes": "view"}


class LeaseCheck:
    """Asks the API, on its socket, who has the shells; what cannot be told counts as held."""

    def __init__(self, api_socket: str) -> None:
        self._socket = api_socket

    async def __call__(self) -> None:
        """Raise HeldByHuman while a person holds the shells or nobody may act, and Unavailable while that is not known."""
        holding = await self._holding()
        if not holding.admits(_A_PROGRAM, "shell"):
            refusal = holding.refusal()
            raise HeldByHuman(refusal.message, hint=HINT, **refusal.details)  # type: ignore[arg-type] # none is named like a parameter

    async def _holding(self) -> Holding:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                _, answer = await exchange(self._socket, "GET", "/v1/control", b"", _HEADERS)
            told = orjson.loads(answer)["data"]
            return Holding.loads({**told, "reach": told["scope"]})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable("nobody can say who has control: nothing was asked of the MCP server", retry_after=RETRY_AFTER) from error
