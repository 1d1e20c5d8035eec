"""What a viewer says, each message once and in order, though some of it is said twice. Sans-io but for the queue.

Everything comes over the WebSocket. What a viewer does comes over the channel, too, with the number of messages of the WebSocket before it:
what comes first counts. A message of the channel that comes too early is left to the WebSocket.
"""

import asyncio
import struct

MAX_WAITING = 256
_NUMBER = struct.Struct("<I")


class InboundMessages:
    """Messages as they are to be heard."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(MAX_WAITING)
        self._counted = 0
        self._done = 0
        self._waits = False

    async def from_socket(self, message: bytes) -> None:
        """Take a message of the WebSocket, as soon as there is room for it."""
        index, self._counted = self._counted, self._counted + 1
        if index < self._done:
            return
        self._waits, self._done = True, index + 1
        await self._queue.put(message)
        self._waits = False

    def from_channel(self, numbered: bytes) -> None:
        """Take a message of the channel, unless it is not its turn."""
        if len(numbered) <= _NUMBER.size or self._waits or self._queue.full():
            return
        if _NUMBER.unpack_from(numbered)[0] == self._done & 0xFFFFFFFF:
            self._done += 1
            self._queue.put_nowait(numbered[_NUMBER.size :])

    def hint(self, message: bytes) -> bool:
        """Take a message that has no number, as an ack; whether there was room for it."""
        if self._waits or self._queue.full():
            return False
        self._queue.put_nowait(message)
        return True

    async def end(self, error: Exception | None) -> None:
        """Nothing more comes."""
        await self._queue.put(error)

    async def next(self) -> bytes | None:
        """The next message; None after the last one. Raises what ended it."""
        message_or_error = await self._queue.get()
        if isinstance(message_or_error, Exception):
            raise message_or_error
        return message_or_error
