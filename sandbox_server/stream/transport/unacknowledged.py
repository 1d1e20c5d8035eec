"""Frames that were sent over the data channel and not acknowledged: they are sent again over the WebSocket if it fails. Sans-io."""

from collections import deque
from dataclasses import dataclass, field

from sandbox_server.stream import wire

_FRAME = slice(2, 6)


@dataclass(slots=True)
class _UnacknowledgedFrame:
    number: int = 0
    messages: list[bytes] = field(default_factory=list)
    whole: bool = False


class UnacknowledgedFrames:
    """The messages of unacknowledged frames. `congestion/window.py` bounds how many they are."""

    def __init__(self) -> None:
        self._frames: deque[_UnacknowledgedFrame] = deque()

    def __bool__(self) -> bool:
        return bool(self._frames)

    def begin(self) -> None:
        """Begin another frame: what is added from now on belongs to it."""
        self._frames.append(_UnacknowledgedFrame())

    def add(self, message: bytes) -> None:
        """Add a message of the latest frame: a part of it, or the size before it."""
        sent = self._frames[-1]
        sent.messages.append(message)
        if message[0] == wire.PART:
            sent.number = int.from_bytes(message[_FRAME], "little")
            sent.whole = bool(message[1] & wire.LAST)

    def acked(self, frame: int) -> None:
        """Forget a frame and all before it, except one that is still being sent, whatever the viewer says."""
        while self._frames and self._frames[0].whole and self._frames[0].number <= frame:
            self._frames.popleft()

    def take(self) -> list[bytes]:
        """Remove all messages, and return them in their order."""
        messages = [message for sent in self._frames for message in sent.messages]
        self._frames.clear()
        return messages
