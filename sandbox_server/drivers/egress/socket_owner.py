"""The user of a connection and its socket's inode, asked of the kernel by its addresses (sock_diag(7)).

The socket is opened in the namespace, whose connections it then knows wherever it is used.
"""

import itertools
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

from sandbox_server.drivers.egress.protected_addresses import Address

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY, _REQUEST = 20, 1
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = 0xFFFFFFFF
_HEADER, _WHAT, _PORTS, _COOKIE = struct.Struct("=IHHII"), struct.Struct("=BBBBI"), struct.Struct("!HH"), struct.Struct("=III")
_OWNER = struct.Struct("=II")
_OWNER_AT = _HEADER.size + 4 + 48 + 3 * 4
"""Where an answer has user and inode: behind the four bytes of state, the socket's addresses, and three counters."""
_MAX_ANSWER = 4096
_SECONDS = 0.1
_numbers = itertools.count(1)
"""Numbers of the questions, by which an answer that came too late is not taken for that to another one."""


@dataclass(frozen=True, slots=True)
class SocketOwner:
    """Whose a connection is. The kernel gives the user 0, and no inode, once the socket was closed."""

    uid: int | None
    """None if the kernel did not say."""
    inode: int
    """The number of the socket, which /proc/PID/fd names; 0 once no process has it any more."""
    private: str | None = None
    """The person in whose private time the connection was open, if it may be the desktop's. That stays when the time is over."""


def open_owners() -> socket.socket:
    """Open a socket that answers for this process's network namespace. Raises OSError."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG)
    sock.settimeout(_SECONDS)
    return sock


def owner(sock: socket.socket, client: tuple[Address, int], destination: tuple[Address, int]) -> SocketOwner | None:
    """Return the owner of the TCP connection from `client` to `destination`, as the client sees both; None if it is gone."""
    (source, source_port), (target, target_port) = client, destination
    family = socket.AF_INET if source.version == 4 else socket.AF_INET6
    what = _WHAT.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE)
    addresses = _PORTS.pack(source_port, target_port) + source.packed.ljust(16, b"\0") + target.packed.ljust(16, b"\0")
    body = what + addresses + _COOKIE.pack(0, _NO_COOKIE, _NO_COOKIE)
    number = next(_numbers) & 0xFFFFFFFF
    with suppress(OSError):
        sock.send(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST, number, 0) + body)
        while len(answer := sock.recv(_MAX_ANSWER)) >= _HEADER.size and _HEADER.unpack_from(answer)[3] != number:
            continue
        return _owner_in(answer)
    return None


def _owner_in(answer: bytes) -> SocketOwner | None:
    if len(answer) < _OWNER_AT + _OWNER.size or _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    return SocketOwner(*_OWNER.unpack_from(answer, _OWNER_AT))


def client_of(sock: socket.socket) -> tuple[Address, int]:
    """Return address and port of the other side of an accepted connection. Raises OSError."""
    address, port, *_ = sock.getpeername()
    return ip_address(address.partition("%")[0]), port


def local_address(sock: socket.socket) -> tuple[Address, int]:
    """Return address and port of this side of an accepted connection. Raises OSError."""
    address, port, *_ = sock.getsockname()
    return ip_address(address.partition("%")[0]), port
