"""Fragmentation and reassembly of messages that are longer than a data channel takes. Sans-io: `web/stream/fragments.js` joins them."""

from collections.abc import Iterator

from sandbox_server.stream.wire import MalformedMessage

FRAGMENT_BYTES = 48 * 1024
MAX_BYTES = 32 << 20
_WHOLE, _MORE = b"\x00", b"\x01"


def fragments(message: bytes) -> Iterator[bytes]:
    """The fragments of a message. The first byte of each says whether more follow."""
    last = max(0, len(message) - 1) // FRAGMENT_BYTES * FRAGMENT_BYTES
    for at in range(0, last + 1, FRAGMENT_BYTES):
        yield (_WHOLE if at == last else _MORE) + message[at : at + FRAGMENT_BYTES]


class Reassembler:
    """Reassembles messages from fragments that arrive in order."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._bytes = 0

    def take(self, fragment: bytes) -> bytes | None:
        """Take a fragment; the whole message if it is the last of one. Raises MalformedMessage."""
        mark, body = fragment[:1], fragment[1:]
        if mark not in (_WHOLE, _MORE):
            raise MalformedMessage("this is no fragment of a message")
        self._waiting.append(body)
        self._bytes += len(body)
        if self._bytes > MAX_BYTES:
            raise MalformedMessage(f"a message has at most {MAX_BYTES} bytes")
        return self._reassembled() if mark == _WHOLE else None

    def _reassembled(self) -> bytes:
        message = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return message
