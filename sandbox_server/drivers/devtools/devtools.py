"""The browser as a whole: its requests, its console messages, and the rules for its requests.

It connects on first use, and again after every restart of the browser, so that logs continue and rules stay in force.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.drivers.devtools.bodies import Bodies
from sandbox_server.drivers.devtools.connection import DevtoolsConnection, DevtoolsRefused, Object, OnEvent, connected
from sandbox_server.drivers.devtools.console import Console
from sandbox_server.drivers.devtools.interception import Interception
from sandbox_server.drivers.devtools.kept_rules import KeptRules
from sandbox_server.drivers.devtools.targets import DevtoolsTarget, DevtoolsTargets
from sandbox_server.drivers.devtools.traffic import BUFFERS, Traffic
from sandbox_server.timeouts import scaled

RECONNECT_SECONDS = 0.5
SETTLE_SECONDS = scaled(5.0)
"""Seconds for targets to take a new rule. A target that hangs takes it later."""

log = logging.getLogger(__name__)


class Devtools:
    """The one DevTools client of the API, for all callers.

    `socket` is the browser process's socket; `kept` has the rules of the previous server. While `hidden` is true
    (private mode), nothing is logged, and later nothing that belongs to a request made then. While `wanted` is true, it
    connects without being used.
    """

    def __init__(
        self,
        socket: str,
        kept: KeptRules | None = None,
        hidden: Callable[[], bool] = lambda: False,
        wanted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._hidden = hidden
        self._wanted = wanted
        self.traffic = Traffic()
        self.console = Console()
        self.rules = Interception()
        self._kept = kept
        self._keeping = asyncio.Lock()
        self._bodies = Bodies()
        self.targets = DevtoolsTargets(self._set_up)
        self.socket = socket
        self._listeners: list[OnEvent] = []
        self._connection: DevtoolsConnection | None = None
        self._opened = AsyncExitStack()
        self._connecting = asyncio.Lock()
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        if self._kept:
            self.rules = await asyncio.to_thread(self._kept.read)
        self.connect_if_wanted()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        await self._close()

    def listen(self, listener: OnEvent) -> None:
        """Call `listener` with every event."""
        self._listeners.append(listener)

    @property
    def live(self) -> bool:
        """Whether it is connected."""
        return self._connection is not None and not self._connection.ended.is_set()

    async def connection(self) -> DevtoolsConnection:
        """Return the live connection with everything set up; raises Unavailable if there is no browser."""
        async with self._connecting:
            if not self.live:
                await self._connect()
            assert self._connection
            return self._connection

    async def command(self, method: str, params: Object | None = None, session: str | None = None) -> Object:
        """Send a command and return its result; raises as `DevtoolsConnection.command` does."""
        return await (await self.connection()).command(method, params, session)

    async def apply_rules(self) -> None:
        """Apply the current rules to every target, and save them for the next server."""
        if self._kept:
            async with self._keeping:
                await in_thread(self._kept.write, self.rules)
        connection = await self.connection()
        waiting = [connection.command(*command, target.session) for target in self.targets for command in self.rules.commands()]
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await asyncio.gather(*waiting, return_exceptions=True)

    def connect_if_wanted(self) -> None:
        """Connect, in the background, if there are rules or somebody wants it."""
        if not self.live and (self.rules or self._wanted()):
            self._tasks.start(self._connect_soon(), name="DevTools")

    async def forget(self) -> None:
        """Drop what was logged, and every rule, also for the next server."""
        self.traffic, self.console, self.rules = Traffic(), Console(), Interception()
        if self._kept:
            async with self._keeping:
                await in_thread(self._kept.write, self.rules)

    def hide(self, page: str) -> None:
        """Leave a page out of all logs, and drop what was logged of it."""
        self.targets.hide(page)
        self.traffic.forget(page)
        self.console.forget(page)

    async def _connect(self) -> None:
        await self._close()
        opened = AsyncExitStack()
        connection = await opened.enter_async_context(connected(self.socket, self._on_event))
        try:
            await connection.command("Browser.setDownloadBehavior", {"behavior": "default", "eventsEnabled": True})
            await self.targets.follow(connection)
        except (DevtoolsRefused, TimeoutError) as error:
            await opened.aclose()
            raise Unavailable(f"the browser cannot be observed: {error}", retry_after=1.0) from None
        except BaseException:
            await opened.aclose()
            raise
        self._connection, self._opened = connection, opened
        self._tasks.start(self._reconnect(connection), name="DevTools")

    async def _reconnect(self, connection: DevtoolsConnection) -> None:
        await connection.ended.wait()
        for target in self.targets:
            self.traffic.gone(target.session)
        await asyncio.sleep(RECONNECT_SECONDS)
        await self._connect_soon()

    async def _connect_soon(self) -> None:
        while True:
            try:
                await self.connection()
                return
            except Unavailable as error:
                log.info("%s", error.message)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _close(self) -> None:
        self._connection = None
        opened, self._opened = self._opened, AsyncExitStack()
        await opened.aclose()

    def _set_up(self, target: DevtoolsTarget) -> list[tuple[str, Object]]:
        return [
            ("Network.enable", BUFFERS),
            *self.rules.commands(),
            ("Runtime.enable", {}),
            ("Log.enable", {}),
            ("Inspector.enable", {}),
        ]

    def _on_event(self, session: str | None, method: str, params: Object) -> None:
        try:
            self._take(session, method, params)
        except (KeyError, TypeError, ValueError):  # an unknown form of the protocol; the next event may be fine
            log.exception("an event %s was not understood", method)
        for listener in list(self._listeners):
            listener(session, method, params)

    def _take(self, session: str | None, method: str, params: Object) -> None:
        if method == "Fetch.requestPaused":
            self._decide(session, params)
        elif gone := self.targets.take(session, method, params):
            self.traffic.gone(gone.session)
        elif target := self.targets.get(session):
            if method == "Inspector.targetCrashed":
                self.traffic.gone(target.session)
            if self._hidden():
                self.traffic.hide(method, params)
                return
            if method == "Network.loadingFinished":
                self._fetch_body(params)
            self.traffic.take(target, method, params)
            self.console.take(target, method, params)

    def _fetch_body(self, ended: Object) -> None:
        exchange = self.traffic.unfinished(ended["requestId"])
        if exchange and self._connection and self._bodies.wants(exchange, ended):
            self._tasks.start(self._bodies.fetch(self._connection, exchange), name="body of an answer")

    def _decide(self, session: str | None, paused: Object) -> None:
        command: tuple[str, Object] = ("Fetch.continueRequest", {"requestId": paused["requestId"]})
        try:
            command = self.rules.decide(paused)
        finally:
            if self._connection:
                self._connection.post(*command, session)
