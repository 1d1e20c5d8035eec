"""A priority queue of outbound messages: the most urgent first, and large ones at the pacer's rate."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.transport.pacer import Pacer

URGENCY = {wire.SOUND: 1, wire.CURSOR: 2, wire.POINTER: 2, wire.ACTED: 2, wire.SIZE: 3, wire.PART: 3, wire.PICTURE: 3} | {
    wire.CLIPBOARD: 4,
    wire.CLIP: 4,
}
"""Smaller goes first. What is not named is control, or answers an input, and goes before everything."""
PACED = 3
"""From this urgency on, messages are paced. The others are small, and do not wait for them."""

type Carry = Callable[[bytes], Awaitable[None]]
type _Waiting = tuple[int, int, bytes, asyncio.Future[None]]


def is_paced(message: bytes) -> bool:
    """Whether a message is paced."""
    return URGENCY.get(message[0], 0) >= PACED


class PrioritySendQueue:
    """Sends by `carry`, one message at a time, paced by `pacer` if there is one. Messages of one urgency keep their order."""

    def __init__(self, carry: Carry, pacer: Pacer | None = None) -> None:
        self._carry = carry
        self._pacer = pacer
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()
        self._more = asyncio.Event()
        self._tasks = Tasks()
        self._failed: Exception | None = None

    async def __aenter__(self) -> Self:
        self._tasks.start(self._work(), name="send to a viewer")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def send(self, message: bytes) -> None:
        """Send a message, and return when it has left. Raises what carrying any message has raised."""
        if self._failed:
            raise self._failed
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (URGENCY.get(message[0], 0), next(self._numbers), message, sent))
        self._more.set()
        await sent

    async def _work(self) -> None:
        while True:
            self._more.clear()
            if not self._waiting:
                await self._more.wait()
            elif self._pacer and (wait := self._pacer.wait(time.monotonic())):
                await asyncio.sleep(wait)
            else:
                await self._send_first()

    async def _send_first(self) -> None:
        _, _, message, sent = heapq.heappop(self._waiting)
        if sent.cancelled():  # nobody waits for it any more
            return
        if self._pacer:
            self._pacer.spend(len(message), time.monotonic())
        try:
            await self._carry(message)
        except Exception as error:  # who sends it learns of it, whatever it is, and so do all after it
            self._fail(error, sent)
        else:
            if not sent.cancelled():
                sent.set_result(None)

    def _fail(self, error: Exception, sent: asyncio.Future[None]) -> None:
        self._failed = error
        for waiting in (sent, *(waiting for _, _, _, waiting in self._waiting)):
            if not waiting.done():
                waiting.set_exception(error)
        self._waiting.clear()
