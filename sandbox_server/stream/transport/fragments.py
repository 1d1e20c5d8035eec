"""Messages longer than a channel takes, in pieces. Sans-io; `web/view/order.js` joins them, too."""

from collections.abc import Iterator

from sandbox_server.stream.wire import MalformedMessage

PIECE_BYTES = 48 * 1024
MAX_BYTES = 32 << 20
_WHOLE, _MORE = b"\x00", b"\x01"


def fragments(message: bytes) -> Iterator[bytes]:
    """The message in pieces; the first byte of each says whether more follow."""
    last = max(0, len(message) - 1) // PIECE_BYTES * PIECE_BYTES
    for at in range(0, last + 1, PIECE_BYTES):
        yield (_WHOLE if at == last else _MORE) + message[at : at + PIECE_BYTES]


class Reassembler:
    """Puts pieces together that come in order."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._bytes = 0

    def take(self, piece: bytes) -> bytes | None:
        """Take a piece; the message, if it is the last of one. Raises MalformedMessage."""
        mark, body = piece[:1], piece[1:]
        if mark not in (_WHOLE, _MORE):
            raise MalformedMessage("this is no piece of a message")
        self._waiting.append(body)
        self._bytes += len(body)
        if self._bytes > MAX_BYTES:
            raise MalformedMessage(f"a message has at most {MAX_BYTES} bytes")
        return self._joined() if mark == _WHOLE else None

    def _joined(self) -> bytes:
        message = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return message
