"""DevTools commands to single pages over one persistent connection: one round trip each, without Playwright's driver."""

import asyncio
from contextlib import AsyncExitStack, suppress

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.devtools.connection import DevtoolsConnection, DevtoolsRefused, Object, connected


class PageCommands:
    """A session on each page that was sent a command, until the page or the browser ends."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._connection: DevtoolsConnection | None = None
        self._sessions: dict[str, str] = {}
        self._entering = asyncio.Lock()
        self._opened = AsyncExitStack()

    async def send(self, page: str, method: str, params: Object, within: float) -> Object:
        """Send a command to a page and return its result.

        Raises DevtoolsRefused with the browser's message, TimeoutError, and Unavailable if the browser ends or cannot
        be reached.
        """
        async with asyncio.timeout(within):
            connection, session = await self._session(page)
            return await connection.command(method, params, session, timeout=within)

    async def answers(self, page: str, within: float) -> bool:
        """Whether a page runs a script within `within` seconds."""
        with suppress(DevtoolsRefused, TimeoutError, Unavailable):
            await self.send(page, "Runtime.evaluate", {"expression": "1"}, within)
            return True
        return False

    def post(self, page: str, method: str, params: Object) -> None:
        """Send a command to a page without waiting. Does nothing for a page without a session."""
        if self._connection and (session := self._sessions.get(page)):
            self._connection.post(method, params, session)

    async def close(self) -> None:
        """Disconnect from the browser and all pages."""
        self._connection = None
        self._sessions.clear()
        opened, self._opened = self._opened, AsyncExitStack()
        await opened.aclose()

    async def _session(self, page: str) -> tuple[DevtoolsConnection, str]:
        async with self._entering:
            connection = self._connection
            if connection is None or connection.ended.is_set():
                await self.close()
                connection = self._connection = await self._opened.enter_async_context(connected(self._socket, self._follow))
            if page not in self._sessions:
                attached = await connection.command("Target.attachToTarget", {"targetId": page, "flatten": True})
                self._sessions[page] = str(attached["sessionId"])
            return connection, self._sessions[page]

    def _follow(self, _: str | None, method: str, params: Object) -> None:
        """Forget the sessions that ended."""
        if method == "Target.detachedFromTarget":
            self._sessions = {page: session for page, session in self._sessions.items() if session != params["sessionId"]}
