"""The inbound messages of one viewer, deduplicated and in order, though some arrive over both paths. Sans-io but for the queue.

All messages arrive over the WebSocket. A viewer's input arrives over the data channel too, with the number of WebSocket messages before it,
and whichever copy is first counts. A message of the channel that is ahead of its turn is dropped: the WebSocket brings it.
"""

import asyncio
import struct

MAX_WAITING = 256
_NUMBER = struct.Struct("<I")


class InboundMessages:
    """A queue of messages, each once and in the order in which the viewer sent them."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(MAX_WAITING)
        self._counted = 0
        self._done = 0
        self._waits = False

    async def from_socket(self, message: bytes) -> None:
        """Take a message of the WebSocket, once there is room for it."""
        index, self._counted = self._counted, self._counted + 1
        if index < self._done:
            return
        self._waits, self._done = True, index + 1
        await self._queue.put(message)
        self._waits = False

    def from_channel(self, numbered: bytes) -> None:
        """Take a numbered message of the channel, if it is its turn and there is room."""
        if len(numbered) <= _NUMBER.size or self._waits or self._queue.full():
            return
        if _NUMBER.unpack_from(numbered)[0] == self._done & 0xFFFFFFFF:
            self._done += 1
            self._queue.put_nowait(numbered[_NUMBER.size :])

    def hint(self, message: bytes) -> bool:
        """Take a message without a number, such as an ack; False if there was no room for it."""
        if self._waits or self._queue.full():
            return False
        self._queue.put_nowait(message)
        return True

    async def end(self, error: Exception | None) -> None:
        """Note that no more messages come, and why if it was an error."""
        await self._queue.put(error)

    async def next(self) -> bytes | None:
        """The next message; None after the last one. Raises the error that ended them."""
        message_or_error = await self._queue.get()
        if isinstance(message_or_error, Exception):
            raise message_or_error
        return message_or_error
