"""One connection to the browser: commands, replies and events (https://chromedevtools.github.io/devtools-protocol)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import orjson
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.identity import SERVER, Caller
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.browser.playwright_errors import GONE
from sandbox_server.timeouts import scaled

type Object = dict[str, Any]
type OnEvent = Callable[[str | None, str, Object], None]
"""Called with the session (None for the browser), the event's name and its parameters, in order of arrival."""

HEADERS = Caller("api", frozenset({"browser", SERVER})).headers()
"""The API's own identity. The dispatcher has checked the caller's scopes."""
CONNECT_SECONDS = scaled(25.0)
"""Seconds to connect. A browser that starts on demand needs some of them."""
REPLY_SECONDS = scaled(10.0)
MAX_MESSAGE = 256 << 20
MAX_UNSENT = 10_000
RETRY_AFTER = 1.0

log = logging.getLogger(__name__)


class DevtoolsRefused(Exception):
    """The browser refused a command. The message is the browser's."""


class DevtoolsConnection:
    """Sends commands to the browser or to one of its sessions."""

    def __init__(self, socket: ClientConnection, on_event: OnEvent) -> None:
        self.ended = asyncio.Event()
        self._socket = socket
        self._on_event = on_event
        self._last = 0
        self._waiting: dict[int, asyncio.Future[Object]] = {}
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue(MAX_UNSENT)

    def post(self, method: str, params: Object | None = None, session: str | None = None) -> int:
        """Send a command without waiting for its reply. Commands of one session run in order."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params or {}} | ({"sessionId": session} if session else {})
        with suppress(asyncio.QueueFull):  # the browser has stopped reading, and the connection is about to end
            self._unsent.put_nowait(orjson.dumps(message))
        return self._last

    async def command(
        self, method: str, params: Object | None = None, session: str | None = None, *, timeout: float = REPLY_SECONDS
    ) -> Object:
        """Send a command and return its result.

        Raises DevtoolsRefused, TimeoutError, and Unavailable if the connection ends first.
        """
        if self.ended.is_set():
            raise _lost()
        number = self.post(method, params, session)
        reply: asyncio.Future[Object] = asyncio.get_running_loop().create_future()
        self._waiting[number] = reply
        try:
            async with asyncio.timeout(timeout):
                return await reply
        finally:
            del self._waiting[number]

    async def _read(self) -> None:
        try:
            async for text in self._socket:
                if (message := _read_message(text)) is not None:
                    self._take(message)
        except ConnectionClosed:
            pass
        finally:
            self.ended.set()
            for reply in self._waiting.values():
                if not reply.done():
                    reply.set_exception(_lost())

    async def _write(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                await self._socket.send((await self._unsent.get()).decode())

    def _take(self, message: Object) -> None:
        if "method" in message:
            self._on_event(message.get("sessionId"), message["method"], message.get("params", {}))
            return
        reply = self._waiting.get(message.get("id", 0))
        if reply is None or reply.done():
            return
        if "error" in message:
            said = str(message["error"].get("message", ""))
            reply.set_exception(_lost() if said == GONE else DevtoolsRefused(said))
        else:
            reply.set_result(message.get("result", {}))


@asynccontextmanager
async def connected(socket: str, on_event: OnEvent) -> AsyncIterator[DevtoolsConnection]:
    """Connect to the browser, and start it if needed; raises Unavailable if it cannot be reached."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            opened = await unix_connect(
                socket, "ws://browser/devtools/browser/api", additional_headers=HEADERS, compression=None, max_size=MAX_MESSAGE
            )
    except (OSError, TimeoutError, InvalidHandshake) as error:
        raise Unavailable(f"the browser cannot be reached: {error}", retry_after=RETRY_AFTER) from None
    connection = DevtoolsConnection(opened, on_event)
    async with opened, Tasks() as tasks:
        tasks.start(connection._read(), name="DevTools events")
        tasks.start(connection._write(), name="DevTools commands")
        yield connection


def _read_message(text: str | bytes) -> Object | None:
    """Parse a message of the browser; None if it nests too deep, which only a page's content can."""
    try:
        return cast(Object, orjson.loads(text))
    except orjson.JSONDecodeError:
        pass
    try:
        return cast(Object, json.loads(text))  # a page may write half a surrogate pair, which orjson refuses
    except (ValueError, RecursionError):
        log.warning("a message of the browser of %d characters cannot be read", len(text))
        return None


def _lost() -> Unavailable:
    return Unavailable("the browser ended", retry_after=RETRY_AFTER)
