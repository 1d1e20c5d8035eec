"""A viewer's seat: what the lease, which the API keeps, says of its input. While the API cannot be reached nothing counts."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import WebSocketException

RETRY_SECONDS = 0.2
ANSWER_SECONDS = 5.0
"""How long an input waits for control; it is dropped then."""
TOUCH_SECONDS = 1.0
"""How often the lease is told that the viewer still acts."""
_ADDRESS = "ws://localhost/v1/control/seat"
_DRIVE = "drive"


class Lease(Protocol):
    """Whether one viewer's input counts."""

    @property
    def drives(self) -> bool:
        """Whether it does now."""

    async def drive(self) -> bool:
        """Take an input that means to act: whether it counts. A person's first one takes control, where the settings let it."""

    async def follow(self, changed: Callable[[], None]) -> None:
        """Keep `drives` true to the lease, and tell of each change, until cancelled."""


class Seat:
    """The seat of the caller whose headers, as the gateway set them, are given; `socket` is the API's."""

    def __init__(self, socket: str, headers: Mapping[str, str]) -> None:
        self._socket = socket
        self._headers = dict(headers)
        self._connection: ClientConnection | None = None
        self._answer: asyncio.Future[bool] | None = None
        self._touched = 0.0
        self._drives = False

    @property
    def drives(self) -> bool:
        """Whether the viewer's input counts now."""
        return self._drives

    async def drive(self) -> bool:
        """Take an input that means to act: whether it counts."""
        if self._drives:
            await self._touch()
            return True
        answer = self._answer
        if answer is None:
            answer = self._answer = asyncio.get_running_loop().create_future()
            await self._ask()
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.shield(answer)
        return False

    async def follow(self, changed: Callable[[], None]) -> None:
        """Keep to the lease, and tell of each change, until cancelled."""
        while True:
            with suppress(OSError, WebSocketException, TimeoutError):
                async with unix_connect(self._socket, _ADDRESS, additional_headers=self._headers, compression=None) as connection:
                    self._connection = connection
                    if self._answer:  # an input came before the seat was there
                        await self._ask()
                    await self._listen(connection, changed)
            self._connection = None
            self._set(drives=False, changed=changed)
            self._settle(drives=False)
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self, connection: ClientConnection, changed: Callable[[], None]) -> None:
        async for message in connection:
            told = json.loads(message)
            self._set(drives=told["drives"], changed=changed)
            if told["answer"]:
                self._settle(drives=told["drives"])

    def _set(self, *, drives: bool, changed: Callable[[], None]) -> None:
        if drives != self._drives:
            self._drives = drives
            changed()

    def _settle(self, *, drives: bool) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_result(drives)
        self._answer = None

    async def _touch(self) -> None:
        if time.monotonic() - self._touched > TOUCH_SECONDS:
            self._touched = time.monotonic()
            await self._ask()

    async def _ask(self) -> None:
        if self._connection is None:
            return
        with suppress(WebSocketException):
            await self._connection.send(_DRIVE)
