"""A TLS client's first message, read as far as a policy needs it: the name of the server (RFC 8446, RFC 6066)."""

from dataclasses import dataclass

MAX_HELLO = 16 << 10
"""Limit in bytes of a ClientHello; those with post-quantum keys have two thousand."""
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_MAX_RECORD = 16 << 10
_SERVER_NAME, _HOST_NAME = 0, 0
_HIDDEN_NAME = frozenset({0xFE0D, 0xFFCE})
"""Encrypted Client Hello (RFC 9849), and Encrypted SNI before it."""


class MalformedHello(ValueError):
    """The bytes are no ClientHello, or one with two names."""


@dataclass(frozen=True, slots=True)
class ClientHello:
    """What a ClientHello says. `server_name` is empty if it names no server."""

    server_name: str
    ech: bool
    """Whether the name may be another, hidden one. Browsers send such an extension without meaning also."""


class HelloReader:
    """Reads a ClientHello that may come in any number of records and pieces, each byte once."""

    def __init__(self) -> None:
        self._records = bytearray()
        self._message = bytearray()
        self._total = 0

    def feed(self, received: bytes) -> ClientHello | None:
        """Take more bytes; return the message once it is whole. Raises MalformedHello."""
        self._total += len(received)
        if self._total > MAX_HELLO:
            raise MalformedHello(f"the ClientHello exceeds {MAX_HELLO} bytes")
        self._records += received
        self._take_records()
        if len(self._message) < _MESSAGE_HEAD:
            return None
        if self._message[0] != _CLIENT_HELLO:
            raise MalformedHello("the first message is no ClientHello")
        end = _MESSAGE_HEAD + int.from_bytes(self._message[1:4])
        if end > MAX_HELLO:
            raise MalformedHello(f"the ClientHello exceeds {MAX_HELLO} bytes")
        return _parse(bytes(self._message[_MESSAGE_HEAD:end])) if len(self._message) >= end else None

    def _take_records(self) -> None:
        position = 0
        while len(self._records) - position >= _RECORD_HEAD:
            kind, major = self._records[position], self._records[position + 1]
            length = int.from_bytes(self._records[position + 3 : position + _RECORD_HEAD])
            if kind != _HANDSHAKE or major != 3 or not 0 < length <= _MAX_RECORD:
                raise MalformedHello("a record is not of the handshake")
            if len(self._records) - position - _RECORD_HEAD < length:
                break
            position += _RECORD_HEAD
            self._message += self._records[position : position + length]
            position += length
            if self._whole():
                break
        del self._records[:position]

    def _whole(self) -> bool:
        """Whether what follows belongs to another message, such as early data."""
        return len(self._message) >= _MESSAGE_HEAD and len(self._message) >= _MESSAGE_HEAD + int.from_bytes(self._message[1:4])


class _Fields:
    """Reads fields of a structure in turn."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    @property
    def left(self) -> int:
        return len(self._content) - self._position

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise MalformedHello("the ClientHello ends within a field")
        self._position += count
        return self._content[self._position - count : self._position]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> bytes:
        """Take a field that begins with its length, in `size` bytes."""
        return self.take(self.number(size))


def _parse(body: bytes) -> ClientHello:
    fields = _Fields(body)
    fields.take(2 + 32)
    for size in (1, 2, 1):  # session, cipher suites, compression methods
        fields.vector(size)
    extensions = _Fields(fields.vector(2) if fields.left else b"")
    names, ech = [], False
    while extensions.left:
        kind, content = extensions.number(2), extensions.vector(2)
        ech = ech or kind in _HIDDEN_NAME
        if kind == _SERVER_NAME:
            names.append(_server_name(content))
    if fields.left or len(names) > 1:
        raise MalformedHello("the ClientHello has bytes after its end, or names two servers")
    return ClientHello("".join(names), ech)


def _server_name(content: bytes) -> str:
    fields = _Fields(content)
    entries = _Fields(fields.vector(2))
    kind, name = entries.number(1), entries.vector(2)
    if fields.left or entries.left or kind != _HOST_NAME or not name:
        raise MalformedHello("the ClientHello names no server, or two")
    try:
        return name.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedHello("the server's name is not ASCII") from None
