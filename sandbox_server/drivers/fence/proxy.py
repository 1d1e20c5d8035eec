"""The fence's proxy: HTTP and CONNECT to the hosts that a policy allows.

It is a process of the agent outside the fence, so the rules for the agent's network apply to it too. It connects only
to the host name that was checked, whatever address the program resolved. It ends with its program. It uses threads and
the standard library only: it is forked from the spawner and executes nothing.
"""

import ipaddress
import re
import selectors
import socket
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sandbox_server.drivers.fence.policy import NetworkPolicy

CONNECT_SECONDS = 30.0
IDLE_SECONDS = 600.0
"""Seconds without a byte in either direction after which a connection is closed."""
MAX_HEAD = 64 << 10
MAX_CONNECTIONS = 256
_CHUNK = 64 << 10
_REPLACED = (b"host", b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive")
_AUTHORITY = re.compile(r"(?:\[(?P<six>[^\]]+)\]|(?P<name>[^:/?#\[\]@]+))(?::(?P<port>\d{1,5}))?")

type Address = tuple[int, int, int, tuple[object, ...]]


class RefusedError(Exception):
    """The request is refused. `status` is the HTTP status line."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def covers(pattern: str, host: str) -> bool:
    """Whether an entry of a policy matches a host in lower case."""
    pattern = pattern.lower()
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def allows(policy: NetworkPolicy, host: str) -> bool:
    """Whether a policy allows a host. A denied host is not allowed."""
    name = host.lower().rstrip(".")
    if any(covers(denied, name) for denied in policy.denied_domains):
        return False
    return any(covers(allowed, name) for allowed in policy.allowed_domains)


def usable(addresses: Sequence[Address], host: str, allowed: Collection[str]) -> list[Address]:
    """Leave out addresses of this machine and of its link, unless the policy names that host: a name may point anywhere."""
    if any(entry.lower() == host.lower() for entry in allowed) and (host == "localhost" or _is_address(host)):
        return list(addresses)
    return [found for found in addresses if not _is_own(str(found[3][0]))]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_own(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast


@dataclass(frozen=True)
class Request:
    """The head of a request: its destination, and what to send there first."""

    host: str
    port: int
    tunnel: bool
    head: bytes


def parse(head: bytes) -> Request:
    """Parse a request's head. Raises RefusedError."""
    line, _, rest = head.partition(b"\r\n")
    if b"\n" in head.replace(b"\r\n", b""):  # some servers take a bare newline for the end of a line
        raise RefusedError("400 Bad Request", "a line ends with CR LF")
    words = line.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise RefusedError("400 Bad Request", "this is no request for a proxy")
    method, target, version = words
    if method == "CONNECT":
        return Request(*_authority(target, 443), tunnel=True, head=b"")
    scheme, slashes, place = target.partition("://")
    if scheme.lower() != "http" or not slashes:
        raise RefusedError("400 Bad Request", "a proxy takes CONNECT, or an http:// address")
    authority, _, path = place.partition("/")
    host, port = _authority(authority, 80)
    kept = b"".join(_end_to_end_fields(rest))
    named = f"{method} /{path} {version}\r\nHost: {authority}\r\nConnection: close\r\n"
    return Request(host, port, tunnel=False, head=named.encode("latin-1") + kept + b"\r\n")


def _end_to_end_fields(fields: bytes) -> Iterator[bytes]:
    """Yield the header fields to forward: one Host, with the checked name, and no hop-by-hop fields."""
    for field in fields.split(b"\r\n"):
        if field and field.partition(b":")[0].strip().lower() not in _REPLACED:
            yield field + b"\r\n"


def _authority(text: str, port: int) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    if not found or int(found["port"] or port) > 65535:
        raise RefusedError("400 Bad Request", "this is no host and port")
    return (found["six"] or found["name"]).lower(), int(found["port"] or port)


class FenceProxy:
    """Serves the connections of one listener."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self._policy = policy
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def serve(self, listener: socket.socket, ended: int) -> None:
        """Serve until the descriptor `ended` can be read."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(listener, selectors.EVENT_READ)
            waiting.register(ended, selectors.EVENT_READ)
            while not any(key.fd == ended for key, _ in waiting.select()):
                self._accept(listener)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            client, _ = listener.accept()
            if self._free.acquire(blocking=False):
                threading.Thread(target=self._attend, args=(client,), daemon=True).start()
            else:
                client.close()

    def _attend(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError):
                client.settimeout(CONNECT_SECONDS)
                self._answer(client)
        finally:
            self._free.release()

    def _answer(self, client: socket.socket) -> None:
        try:
            head, more = read_head(client)
            request = parse(head)
            upstream = self._connect(request)
        except RefusedError as refusal:
            said = f"{refusal}\n".encode()
            start = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n"
            client.sendall(start.encode("latin-1") + said)
            return
        with upstream:
            if request.tunnel:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            upstream.sendall(request.head + more)
            relay(client, upstream)

    def _connect(self, request: Request) -> socket.socket:
        if not allows(self._policy, request.host):
            raise RefusedError("403 Forbidden", f"isolation.network does not allow {request.host}")
        try:
            found = socket.getaddrinfo(request.host.encode(), request.port, type=socket.SOCK_STREAM)  # a str imports a codec
        except (OSError, UnicodeError):
            raise RefusedError("502 Bad Gateway", f"{request.host} has no address") from None
        addresses = [(family, kind, protocol, place) for family, kind, protocol, _, place in found]
        for family, kind, protocol, place in usable(addresses, request.host, self._policy.allowed_domains):
            sock = socket.socket(family, kind, protocol)
            sock.settimeout(CONNECT_SECONDS)
            try:
                sock.connect(place)
            except OSError:
                sock.close()
            else:
                return sock
        raise RefusedError("502 Bad Gateway", f"{request.host} cannot be reached")


def read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """Read the head of a request, and the bytes after it. Raises RefusedError."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = client.recv(_CHUNK)
        if not chunk or len(received) > MAX_HEAD:
            raise RefusedError("400 Bad Request", "the request ended within its head, or that is too long")
        received += chunk
    head, _, more = received.partition(b"\r\n\r\n")
    return head, more


def relay(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until both sides have ended, or nothing has moved for IDLE_SECONDS."""
    for sock in (one, other):
        sock.settimeout(IDLE_SECONDS)
    back = threading.Thread(target=_carry, args=(other, one), daemon=True)
    back.start()
    _carry(one, other)
    back.join()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
