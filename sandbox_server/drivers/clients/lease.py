"""Lease client: a process with a viewer's input asks the API, which keeps the lease, whether the input is accepted."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.ipc.websocket_client import websocket
from sandbox_server.timeouts import scaled

AGAIN_SECONDS = 0.2
CONNECT_SECONDS = scaled(1.0)
ANSWER_SECONDS = scaled(5.0)
"""Seconds that an input waits for the API's answer."""
UNAUTHENTICATED = 401
TOUCH_SECONDS = 1.0
"""Seconds between two reports of the driver's input, which count as activity."""


class LeaseClient:
    """One viewer's input; an asynchronous context manager.

    `lost` releases what the input holds down, and is called before anyone else may act. While the API does not answer,
    no input is accepted and nothing is shown. `changed`, if set, is called whenever `drives`, `sees` or `programs`
    changes.
    """

    def __init__(self, socket: str, headers: Mapping[str, str], lost: Callable[[], Awaitable[None]]) -> None:
        self._socket = socket
        self._headers = dict(headers)
        self._lost = lost
        self._connection: Any = None
        self._connected = asyncio.Event()
        self._asked = self._told = 0
        self._answered = asyncio.Event()
        self._touched = 0.0
        self._inputs = 0
        self._tasks = Tasks()
        self.drives = False
        """Whether the input is accepted now."""
        self.sees: bool | None = None
        """Whether the viewer may see the screen now; None if unknown."""
        self.programs = False
        """Whether only programs act on the screen now."""
        self.changed: Callable[[], None] = lambda: None
        self.ended = asyncio.Event()
        """Set once the session of the input's caller has ended."""

    async def __aenter__(self) -> Self:
        self._tasks.start(self._keep(), name="ask who has control")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def act(self) -> bool:
        """Take an input event, and return whether it is accepted. The first one may take control."""
        if not self._connection:  # still connecting: a viewer's first input comes soon
            with suppress(TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._connected.wait()
        self._inputs += 1
        now = asyncio.get_running_loop().time()
        if self._connection and (not self.drives or now - self._touched > TOUCH_SECONDS):
            self._touched = now
            await self._ask(waits=not self.drives)
        return self.drives

    async def _ask(self, *, waits: bool) -> None:
        from websockets.exceptions import ConnectionClosed

        self._asked += 1
        with suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(ANSWER_SECONDS):
                inputs, self._inputs = self._inputs, 0
                await self._connection.send(json.dumps({"act": self._asked, "inputs": inputs}))
                while waits and self._told < self._asked:  # the answer to an earlier input may come before
                    self._answered.clear()
                    await self._answered.wait()

    async def _keep(self) -> None:
        from websockets.exceptions import InvalidStatus, WebSocketException

        while not self.ended.is_set():
            try:
                async with websocket(self._socket, "ws://api/v1/control/input", self._headers) as found:
                    self._connection = found
                    self._connected.set()
                    async for message in found:
                        await self._hear(json.loads(message))
            except InvalidStatus as refused:
                if refused.response.status_code == UNAUTHENTICATED:
                    self.ended.set()
            except (OSError, WebSocketException, TimeoutError):
                pass  # it is tried again
            self._connection = None
            self._connected.clear()
            await self._follow(drives=False, sees=None, programs=False)
            self._hear_answer(self._asked)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _hear(self, told: Mapping[str, Any]) -> None:
        await self._follow(drives=told["drives"], sees=told["sees"], programs=told.get("programs", False))
        self._hear_answer(told.get("act", 0))
        await self._connection.send(json.dumps({"seen": told["epoch"]}))

    def _hear_answer(self, number: int) -> None:
        self._told = max(self._told, number)
        self._answered.set()

    async def _follow(self, *, drives: bool, sees: bool | None, programs: bool) -> None:
        had = self.drives, self.sees, self.programs
        self.drives, self.sees, self.programs = drives, sees, programs
        if had[0] and not drives:
            await self._lost()
        if had != (drives, sees, programs):
            self.changed()
