"""Emulation: commands that every page gets before it loads, sent by a client of the server's own on all pages.

Chromium undoes a session's settings when the session ends, so disconnecting that client ends the emulation.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson

from sandbox_server.cdp.browser_connection import COMMAND_TIMEOUT, BrowserLink
from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.messages import Object, encode
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks

type Commands = Mapping[str, Mapping[str, Any]]
"""Parameters by method, in the order in which they are sent."""

_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
_SHOWN = ("page", "iframe")


class Emulation:
    """Keeps commands in force on all pages, also after restarts of the browser.

    Calls wait up to `patience` seconds for the pages that are open. With `anew`, a page whose first document was
    requested too early reloads it.
    """

    def __init__(self, patience: float = COMMAND_TIMEOUT, *, anew: bool = False) -> None:
        self._patience = patience
        self._anew = anew
        self._commands: Commands | None = None
        self._paused = False
        self._tasks = Tasks()
        self._follower: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def set(self, link: BrowserLink, commands: Commands | None) -> None:
        """Replace the commands, and return when every open page has them; raises Unavailable."""
        self._commands, self._paused = commands, False
        await self.apply(link)

    async def pause(self) -> None:
        """Take the commands off all pages until `resume` or `set`."""
        self._paused = True
        async with self._turn:
            await self._let_go()

    async def resume(self, link: BrowserLink) -> None:
        """Send the commands to all pages again; raises Unavailable."""
        paused, self._paused = self._paused, False
        if paused:
            await self.apply(link)

    async def apply(self, link: BrowserLink) -> None:
        """Apply the commands to the pages of a browser, which may be a new one; raises Unavailable."""
        async with self._turn:  # who asks for something else while this attaches comes after it
            await self._let_go()
            if not self._commands or self._paused:
                return
            follower = _Follower(link, *await link.attach(OWNER, None), self._commands, anew=self._anew)
            self._follower = self._tasks.start(follower.follow(), name="emulation")
        try:
            async with asyncio.timeout(self._patience):
                await follower.settled.wait()
        except TimeoutError:
            raise Unavailable("a page did not apply the emulation", retry_after=1.0) from None

    async def _let_go(self) -> None:
        if self._follower:
            self._follower.cancel()
            await asyncio.wait([self._follower])
            self._follower = None

    async def close(self) -> None:
        """Disconnect from the browser."""
        await self._tasks.close()


class _Follower:
    """A client attached to one browser, and to each page as it appears."""

    def __init__(self, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox, commands: Commands, *, anew: bool) -> None:
        self.settled = asyncio.Event()
        """Set when the pages that were open at the start have answered."""
        self._link = link
        self._peer = peer
        self._outbox = outbox
        self._commands = commands
        self._anew = anew
        self._last = 0
        self._unanswered: set[int] = set()

    async def follow(self) -> None:
        """Serve until the browser ends or the task is cancelled."""
        try:
            self._send("Target.setAutoAttach", _ATTACH)
            while (message := await self._outbox.get()) is not None:
                self._take(orjson.loads(message))
        finally:
            self._link.detach(self._peer)
            self.settled.set()

    def _take(self, message: Object) -> None:
        if message.get("method") == "Target.attachedToTarget":
            self._prepare(message["params"])
        elif "id" in message:
            self._unanswered.discard(message["id"])
            if not self._unanswered:
                self.settled.set()

    def _prepare(self, attached: Object) -> None:
        session = attached["sessionId"]
        if attached["targetInfo"]["type"] in _SHOWN:
            for method, params in self._commands.items():
                self._send(method, params, session)
            self._send("Target.setAutoAttach", _ATTACH, session)
        self._send("Runtime.runIfWaitingForDebugger", {}, session)
        url = str(attached["targetInfo"].get("url"))
        if self._anew and attached.get("waitingForDebugger") and attached["targetInfo"]["type"] == "page" and url.startswith("http"):
            self._send("Page.navigate", {"url": url}, session)

    def _send(self, method: str, params: Mapping[str, Any], session: str | None = None) -> None:
        self._last += 1
        self._unanswered.add(self._last)
        address = {"sessionId": session} if session else {}
        self._link.send(self._peer, encode({"id": self._last, "method": method, "params": dict(params), **address}))
