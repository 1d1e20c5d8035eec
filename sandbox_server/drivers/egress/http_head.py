"""The head of an HTTP/1 request, read as strictly as the strictest server: what two servers read differently is malformed."""

from dataclasses import dataclass

MAX_HEAD = 32 << 10
"""Limit in bytes of a request's line and fields."""
_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_VERSIONS = (b"HTTP/1.1", b"HTTP/1.0")
METHOD_OVERRIDES = frozenset(("x-http-method-override", "x-http-method", "x-method-override"))
"""Fields by which some servers take another method than the request's."""
PATH_OVERRIDES = frozenset(("x-original-url", "x-rewrite-url"))
"""Fields by which some servers take another path."""
_FRAMING = frozenset((b"content-length", b"transfer-encoding", b"host"))


class MalformedHead(ValueError):
    """The bytes begin as an HTTP request and are none, or one that is not understood."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What a request's head says. `hosts` are the names that it asks for: of the field Host and of the target."""

    method: str
    target: str
    hosts: tuple[str, ...]
    lengths: tuple[str, ...] = ()
    """Every value of Content-Length."""
    transfer_encodings: tuple[str, ...] = ()
    """Every value of Transfer-Encoding, in lower case."""
    websocket: bool = False
    """Whether the connection is to become a WebSocket."""
    overrides: tuple[str, ...] = ()
    """The names of its fields by which some servers take another method or path."""

    @property
    def path(self) -> str:
        """The path of the target, with its query; empty for a target without one."""
        if self.target.startswith("/"):
            return self.target
        _, slashes, rest = self.target.partition("://")
        path = rest[len(_authority_of(rest)) :]
        return f"/{path}" if slashes and not path.startswith("/") else path


class HeadReader:
    """Reads a request's head that comes in any number of pieces, each byte once or twice."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._searched = 0

    def feed(self, received: bytes) -> RequestHead | None:
        """Take more bytes; return the head once it is whole. Raises MalformedHead."""
        self._received += received
        end = self._received.find(b"\r\n\r\n", max(0, self._searched - 3))
        self._searched = len(self._received)
        if end < 0 and self._searched <= MAX_HEAD:
            return None
        if end < 0 or end > MAX_HEAD:
            raise MalformedHead(f"the request's head exceeds {MAX_HEAD} bytes")
        return _parse(bytes(self._received[:end]))


def is_http(line: bytes) -> bool:
    """Whether a connection's first line is what some server takes for an HTTP request's."""
    return b" HTTP/" in line.upper()


def may_become_http(start: bytes) -> bool:
    """Whether the bytes may be the beginning of an HTTP request's line."""
    return bool(start) and _TOKEN.issuperset(start.partition(b" ")[0]) and min(start.removesuffix(b"\r")) >= ord(" ")


def _parse(head: bytes) -> RequestHead:
    lines = head.split(b"\r\n")
    if any(b"\n" in line or b"\r" in line or b"\0" in line for line in lines):
        raise MalformedHead("a line of the request's head ends otherwise than with CR LF")
    words = lines[0].split(b" ")
    if len(words) != 3 or not words[0] or not _TOKEN.issuperset(words[0]):
        raise MalformedHead("the request's line is malformed")
    if words[2] not in _VERSIONS:
        raise MalformedHead(f"{words[2][:20].decode('latin-1')} is not supported in clear text")
    return request_head(words[0], words[1], words[2], [_field(line) for line in lines[1:]])


def request_head(method: bytes, target: bytes, version: bytes, fields: list[tuple[bytes, bytes]]) -> RequestHead:
    """Return what a request says that is taken apart already; the fields' names are in lower case. Raises MalformedHead.

    `version` is that of the request's line, such as `HTTP/1.1`.
    """
    hosts = _values(fields, b"host")
    if len(hosts) != 1:
        raise MalformedHead("the request has no field Host, or two")
    if any(byte <= ord(" ") or byte in b"#\x7f" for byte in target):
        raise MalformedHead("the request's target is malformed")
    wanted = target.decode("latin-1")
    asked = [_authority(hosts[0]), *_target_hosts(method, wanted)]
    encodings = tuple(value.lower() for value in _values(fields, b"transfer-encoding"))
    if version == b"HTTP/1.0" and encodings:
        raise MalformedHead("a request of HTTP/1.0 has the field Transfer-Encoding, which some servers obey")
    if dropped := _FRAMING & set(_words(fields, b"connection")):
        raise MalformedHead(f"the field Connection has {min(dropped).decode()} dropped on the way, which some servers obey")
    websocket = asks_for_websocket(version, fields)
    lengths = _values(fields, b"content-length")
    overrides = tuple(sorted({name.decode("ascii") for name, _ in fields} & (METHOD_OVERRIDES | PATH_OVERRIDES)))
    return RequestHead(method.decode("ascii"), wanted, tuple(dict.fromkeys(asked)), lengths, encodings, websocket, overrides)


def asks_for_websocket(version: bytes, fields: list[tuple[bytes, bytes]]) -> bool:
    """Whether a request asks for a WebSocket, and for nothing else. Raises MalformedHead for one that leaves the server a choice."""
    offered = _words(fields, b"upgrade")
    if b"websocket" not in [each.partition(b"/")[0] for each in offered]:
        return False
    if offered != [b"websocket"]:
        raise MalformedHead("a request for a WebSocket asks for other protocols, too")
    if version == b"HTTP/1.0":
        raise MalformedHead("a request of HTTP/1.0 asks for a WebSocket, which some servers obey")
    return True


def _words(fields: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """Return the words of all fields with a name, which commas separate, in lower case."""
    return [word.strip(b" \t").lower() for field, value in fields if field == name for word in value.split(b",") if word.strip(b" \t")]


def _values(fields: list[tuple[bytes, bytes]], name: bytes) -> tuple[str, ...]:
    return tuple(value.decode("latin-1") for field, value in fields if field == name)


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not name or not _TOKEN.issuperset(name):
        raise MalformedHead("a field of the request's head is malformed")
    return name.lower(), value.strip(b" \t")


def _target_hosts(method: bytes, target: str) -> list[str]:
    """Return the host of a request's target, where it has one: `http://host/path`, or `host:port` of CONNECT."""
    if method.upper() == b"CONNECT":
        return [_authority(target)]
    if target.startswith("/") or target == "*":
        return []
    scheme, slashes, rest = target.partition("://")
    if not slashes or scheme.lower() not in ("http", "https", "ws", "wss"):
        raise MalformedHead("the request's target is malformed")
    return [_authority(_authority_of(rest))]


def _authority_of(rest: str) -> str:
    """Return what stands before the path or the query of `host[:port][/path][?query]`."""
    return rest.partition("/")[0].partition("?")[0]


def _authority(text: str) -> str:
    """Return the host of `host[:port]`."""
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host = text
    elif port and not (port.isascii() and port.isdecimal() and len(port) <= 5):
        raise MalformedHead("the host of the request is malformed")
    if not host or any(one in "@/\\?# \t," for one in host):
        raise MalformedHead("the host of the request is malformed")
    return host
