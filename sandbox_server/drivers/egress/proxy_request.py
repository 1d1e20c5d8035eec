"""What a client asks of an explicit proxy: a tunnel (CONNECT), a request in absolute form (RFC 9110), or SOCKS5 (RFC 1928)."""

from dataclasses import dataclass
from ipaddress import ip_address

from sandbox_server.drivers.egress.http_head import MAX_HEAD as MAX_HEAD
from sandbox_server.drivers.egress.http_head import MalformedHead, asks_for_websocket
from sandbox_server.drivers.egress.policy import AppProtocol, Destination
from sandbox_server.drivers.egress.protected_addresses import parse_address

SOCKS_VERSION = 5
SOCKS_NO_AUTHENTICATION = bytes([SOCKS_VERSION, 0])
_NO_METHOD = 0xFF
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_HTTP_PORT = 80
_CONNECT_COMMAND = 1
_IP4, _NAME, _IP6 = 1, 3, 4
_LENGTHS = {_IP4: 4, _IP6: 16}
_VERSIONS = (b"HTTP/1.1", b"HTTP/1.0")
_HOP_BY_HOP = (b"connection", b"host", b"keep-alive", b"proxy-authorization", b"proxy-connection", b"te")
"""Fields that are for the proxy, or that it writes itself."""


class MalformedProxyRequest(ValueError):
    """The client asks for nothing that this proxy does; the message says what is wrong."""


class MalformedSocksRequest(MalformedProxyRequest):
    """The same by SOCKS5. `answer` is what the client is told: a reply with its code (RFC 1928, section 6), or that no method fits."""

    def __init__(self, reason: str, reply: int, answer: bytes = b"") -> None:
        super().__init__(reason)
        self.answer = answer or socks_reply(reply)


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A destination, what the client is told once it may go there, and what its server is to hear first."""

    destination: Destination
    accepted: bytes = b""
    first: bytes = b""


def read_http(head: bytes) -> ProxyRequest:
    """Read the head of a request to the proxy, with its blank line. Raises MalformedProxyRequest."""
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or words[2] not in _VERSIONS:
        raise MalformedProxyRequest("this is a proxy for HTTP/1 and SOCKS5")
    if words[0] == b"CONNECT":
        return ProxyRequest(_destination(_text(words[1]), None), CONNECTED)
    scheme, found, rest = words[1].partition(b"://")
    if not found or scheme.lower() != b"http":
        raise MalformedProxyRequest("this is a proxy: ask for http://host/path, or for a tunnel by CONNECT")
    end = min((rest.find(one) for one in (b"/", b"?") if one in rest), default=len(rest))
    authority, path = rest[:end], rest[end:]
    destination = _destination(_text(authority), _HTTP_PORT)
    return ProxyRequest(destination, first=_in_origin_form(words, authority, path, fields))


def check_socks_methods(methods: bytes) -> None:
    """Refuse a client that wants to sign in. Raises MalformedSocksRequest."""
    if 0 not in methods:
        raise MalformedSocksRequest("SOCKS5: only connections without a password are supported", 1, bytes([SOCKS_VERSION, _NO_METHOD]))


def read_socks(command: int, kind: int, host: bytes, port: int) -> ProxyRequest:
    """Read a request of SOCKS5. Raises MalformedSocksRequest."""
    if command != _CONNECT_COMMAND:
        raise MalformedSocksRequest("SOCKS5: only CONNECT is supported", 7)
    if not port:
        raise MalformedSocksRequest("SOCKS5: the port is 0", 1)
    try:
        if kind == _NAME:
            return ProxyRequest(_destination_of(_text(host), port), socks_reply(0))
        return ProxyRequest(Destination(port, address=parse_address(str(ip_address(host)))), socks_reply(0))
    except ValueError as error:
        raise MalformedSocksRequest(f"SOCKS5: {error}", 1) from None


def socks_length(kind: int, first: int) -> int:
    """How many bytes of a host follow its kind; `first` is the first of them. Raises MalformedSocksRequest."""
    if kind == _NAME:
        return 1 + first
    if kind not in _LENGTHS:
        raise MalformedSocksRequest("SOCKS5: the kind of the address is not known", 8)
    return _LENGTHS[kind]


def socks_host(kind: int, received: bytes) -> bytes:
    """Return the host of the bytes whose number `socks_length` gave."""
    return received[1:] if kind == _NAME else received


def socks_reply(code: int) -> bytes:
    """Return the answer to a request."""
    return bytes([SOCKS_VERSION, code, 0, _IP4]) + bytes(6)


def _in_origin_form(words: list[bytes], authority: bytes, path: bytes, fields: list[bytes]) -> bytes:
    """Write the request as its server reads it, one for each connection: the next may be for another host."""
    names = [field.partition(b":")[0].lower() for field in fields]
    values = [(name, field.partition(b":")[2]) for name, field in zip(names, fields, strict=True)]
    try:
        websocket = asks_for_websocket(words[2], values)
    except MalformedHead as error:
        raise MalformedProxyRequest(str(error)) from None
    dropped = _HOP_BY_HOP if websocket else (*_HOP_BY_HOP, b"upgrade")
    kept = [field for name, field in zip(names, fields, strict=True) if name not in dropped]
    target = path if path.startswith(b"/") else b"/" + path
    connection = b"Connection: Upgrade" if websocket else b"Connection: close"
    return b"\r\n".join([b" ".join((words[0], target, words[2])), b"Host: " + authority, *kept, connection, b"", b""])


def _destination(authority: str, default_port: int | None) -> Destination:
    host, colon, digits = authority.rpartition(":") if not authority.endswith("]") else (authority, "", "")
    if not colon:
        host, port = authority, default_port
    else:
        port = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 5 else None
    if port is None or not 0 < port < 1 << 16 or (":" in host and not host.startswith("[")):
        raise MalformedProxyRequest("the port of the destination is missing or malformed")
    return _destination_of(host, port)


def _destination_of(host: str, port: int) -> Destination:
    protocol = AppProtocol.HTTP if port == _HTTP_PORT else AppProtocol.TLS
    try:
        return Destination.of(host, port, protocol)
    except ValueError as error:
        raise MalformedProxyRequest(f"the host of the destination is malformed: {error}") from None


def _text(raw: bytes) -> str:
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedProxyRequest("the host of the destination is not ASCII") from None
