"""All requests of a plain HTTP/1 connection, one after the other: their heads, and where their bodies end.

A client may ask for another server in its second request. So each head is held against the policy, as strictly as the
first, and what follows a head that asks for a WebSocket waits until the server has agreed. Any other protocol that a
client changes to begins with what is no request.
"""

from collections.abc import Callable, Iterable

from sandbox_server.drivers.egress.http_head import MAX_HEAD, HeadReader, MalformedHead, RequestHead

_MAX_CHUNK_LINE = 256
_MAX_STATUS_LINE = 256
_MAX_LENGTH_DIGITS = 15

Judge = Callable[[RequestHead], None]
"""Called with each head; raises what it likes to stop the stream."""


class RequestStream:
    """Follows what a client sends, and never holds more of it than a head."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._step = self._read_head
        self._buffer = bytearray()
        self._left = 0
        self._chunked = False
        self.upgrading = False
        """Whether the last head asks for a WebSocket; then only `agree` and `refuse_upgrade` let the client go on."""
        self.opaque = False
        """Whether the server agreed to a WebSocket, and nothing is looked at any more."""
        self.requests = 0

    def feed(self, received: bytes) -> bytes:
        """Take bytes of the client, and return those to send on. Raises MalformedHead, and what the judge raises."""
        if self.opaque:
            return received
        self._buffer += received
        passed = bytearray()
        while self._buffer and (taken := self._step()):
            passed += self._buffer[:taken]
            del self._buffer[:taken]
        return bytes(passed)

    def agree(self) -> bytes:
        """The server changes the protocol; returns what the client had said meanwhile."""
        self.opaque, self.upgrading = True, False
        held, self._buffer = bytes(self._buffer), bytearray()
        return held

    def refuse_upgrade(self) -> bytes:
        """The server goes on with HTTP; returns what of the client's may be sent on now."""
        self.upgrading = False
        self._step = self._read_head
        return self.feed(b"")

    def _read_head(self) -> int:
        """Read a head; returns how many bytes it has, 0 as long as it is not whole."""
        blank = len(self._buffer) - len(self._buffer.lstrip(b"\r\n"))
        end = self._buffer.find(b"\r\n\r\n", blank)
        if end < 0 and len(self._buffer) <= MAX_HEAD:
            return 0
        head = HeadReader().feed(bytes(self._buffer[blank : end + 4] if end >= 0 else self._buffer[blank:]))
        if head is None:
            raise MalformedHead(f"the request's head exceeds {MAX_HEAD} bytes")
        self._judge(head)
        self.requests += 1
        self._after(head)
        return end + 4

    def _after(self, head: RequestHead) -> None:
        """Choose what comes after a head: a body, a WebSocket, or the next head."""
        self._left, self._chunked = framing(head)
        if head.websocket:
            if self._left or self._chunked:
                raise MalformedHead("a request for a WebSocket has a body")
            if self.requests > 1:
                raise MalformedHead("a request for a WebSocket is not the first of its connection")
            self.upgrading = True
            self._step = self._wait
        elif self._chunked:
            self._step = self._read_chunk_line
        elif self._left:
            self._step = self._read_body

    def _wait(self) -> int:
        if len(self._buffer) > MAX_HEAD:
            raise MalformedHead("the client does not wait for its WebSocket")
        return 0

    def _read_body(self) -> int:
        taken = min(self._left, len(self._buffer))
        self._left -= taken
        if not self._left:
            self._step = self._read_chunk_end if self._chunked else self._read_head
        return taken

    def _read_chunk_line(self) -> int:
        """Read the line with a chunk's size. Extensions are refused: servers read them in different ways."""
        end = self._buffer.find(b"\r\n")
        if end < 0 and len(self._buffer) <= _MAX_CHUNK_LINE:
            return 0
        size = bytes(self._buffer[:end]) if 0 < end <= _MAX_LENGTH_DIGITS else b""
        if not size or not all(one in b"0123456789abcdefABCDEF" for one in size):
            raise MalformedHead("the size of a chunk is malformed")
        self._left = int(size, 16)
        self._step = self._read_body if self._left else self._read_last_line
        return end + 2

    def _read_chunk_end(self) -> int:
        return self._read_line_end(self._read_chunk_line)

    def _read_last_line(self) -> int:
        """Read the end of a chunked body. Trailers are refused: some servers take them for fields."""
        return self._read_line_end(self._read_head)

    def _read_line_end(self, after: Callable[[], int]) -> int:
        if len(self._buffer) < 2:
            return 0
        if self._buffer[:2] != b"\r\n":
            raise MalformedHead("a chunk is longer than it says, or a body has trailers")
        self._step = after
        return 2


def framing(head: RequestHead) -> tuple[int, bool]:
    """Return the length of a body and whether it is chunked. Raises MalformedHead if two servers may see different ends."""
    if head.transfer_encodings:
        if head.transfer_encodings != ("chunked",) or head.lengths:
            raise MalformedHead("the request's body is framed in two ways, or in one that is not known")
        return 0, True
    if len(head.lengths) > 1 or not all(length.isascii() and length.isdecimal() for length in head.lengths):
        raise MalformedHead("the length of the request's body is malformed")
    if head.lengths and len(head.lengths[0]) > _MAX_LENGTH_DIGITS:
        raise MalformedHead("the request's body is too long")
    return int(head.lengths[0]) if head.lengths else 0, False


class UpgradeAnswer:
    """Reads the head of a server's answer to a request for a WebSocket."""

    def __init__(self) -> None:
        self._head = bytearray()

    def feed(self, received: bytes) -> bool | None:
        """Take bytes of the server; return whether it agrees, None as long as that is not known.

        Raises MalformedHead if it changes to another protocol, or its head does not end.
        """
        self._head += received
        line, ended, _ = bytes(self._head[:_MAX_STATUS_LINE]).partition(b"\n")
        if not ended and len(self._head) < _MAX_STATUS_LINE:
            return None
        words = line.split(b" ", 2)
        if not (len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1][:3] == b"101"):
            return False
        end = self._head.find(b"\r\n\r\n")
        if end < 0 and len(self._head) <= MAX_HEAD:
            return None
        fields = [field.partition(b":") for field in bytes(self._head[:end]).split(b"\r\n")[1:]]
        if end < 0 or not is_websocket_answer((name.lower(), value) for name, _, value in fields):
            raise MalformedHead("the server changes to another protocol than that of a WebSocket")
        return True


def is_websocket_answer(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the fields of a server's 101, their names in lower case, agree to a WebSocket and to nothing else."""
    return [value.strip(b" \t").lower() for name, value in fields if name == b"upgrade"] == [b"websocket"]
