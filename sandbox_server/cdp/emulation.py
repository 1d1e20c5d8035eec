"""What every page of the browser is given before it loads anything: one client of our own, attached to all of them.

Chromium undoes what a session has set up when the session ends, so ending the emulation is letting that client go.
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
    """Keeps commands in force over restarts of the browser; waits `patience` seconds for the pages that are open.

    With `anew`, a page whose first document was asked for before it could be given them asks for it again.
    """

    def __init__(self, patience: float = COMMAND_TIMEOUT, *, anew: bool = False) -> None:
        self._patience = patience
        self._anew = anew
        self._commands: Commands | None = None
        self._paused = False
        self._tasks = Tasks()
        self._follower: asyncio.Task[None] | None = None

    async def set(self, link: BrowserLink, commands: Commands | None) -> None:
        """Replace the commands, and return once every page that is open was given them; raises Unavailable."""
        self._commands, self._paused = commands, False
        await self.apply(link)

    async def pause(self) -> None:
        """Have no page keep them until it goes on, or others are set."""
        self._paused = True
        await self._let_go()

    async def resume(self, link: BrowserLink) -> None:
        """Give them to the pages again; raises Unavailable."""
        paused, self._paused = self._paused, False
        if paused:
            await self.apply(link)

    async def apply(self, link: BrowserLink) -> None:
        """Give them to the pages of a browser, which may be a new one."""
        await self._let_go()
        if not self._commands or self._paused:
            return
        follower = _Follower(link, *await link.attach(OWNER, None), self._commands, anew=self._anew)
        self._follower = self._tasks.start(follower.follow(), name="emulation")
        try:
            async with asyncio.timeout(self._patience):
                await follower.settled.wait()
        except TimeoutError:
            raise Unavailable("a page does not take on the device", retry_after=1.0) from None

    async def _let_go(self) -> None:
        if self._follower:
            self._follower.cancel()
            await asyncio.wait([self._follower])
            self._follower = None

    async def close(self) -> None:
        """Let go of the browser."""
        await self._tasks.close()


class _Follower:
    """Attached to a browser, and to each page as it appears."""

    def __init__(self, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox, commands: Commands, *, anew: bool) -> None:
        self.settled = asyncio.Event()
        """Set once what was there at the beginning has answered."""
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
