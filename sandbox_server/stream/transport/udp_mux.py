"""One UDP port for the channels of all viewers. aioice opens a port for each address and each connection, and cannot be told which.

A datagram belongs to the connection whose ICE name and password a binding request from its address proved to know; everything else is
dropped. The server sends to such addresses alone: it takes no candidates from a viewer, so nobody can point it at the network around it.
"""

import asyncio
import errno
import ipaddress
import logging
import socket
import struct
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, cast

from aioice import Candidate, Connection, stun
from aioice.ice import StunProtocol

from sandbox_server.core.errors import ResourceExhausted

MAX_CONNECTIONS = 16
MAX_ADDRESSES = 8
"""Of one viewer: its networks, and what a NAT made of them."""
MAX_WAITING = 512
"""Datagrams of one viewer that may wait to be looked at."""
MAX_NAME_BYTES = 513
_MAPPED = "::ffff:"
"""How IPv6 writes addresses of IPv4 (RFC 4291, section 2.5.5.2)."""
LOOKUP_SECONDS = 2.0
_STUN_BYTES = 20
_COOKIE = b"\x21\x12\xa4\x42"
_BROKEN = (ValueError, KeyError, IndexError, AssertionError, struct.error)
"""What aioice raises for datagrams that are no sound STUN."""
_log = logging.getLogger(__name__)

type Address = tuple[str, int]


def bound(host: str, port: int) -> socket.socket:
    """A socket there; at `::` it is IPv4's, too, and IPv4's alone where there is no IPv6. Raises OSError."""
    if ":" not in host:
        return _bound(socket.AF_INET, (host, port))
    try:
        return _bound(socket.AF_INET6, (host, port))
    except OSError as error:
        if host != "::" or error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
            raise
    return _bound(socket.AF_INET, ("0.0.0.0", port))


def _bound(family: socket.AddressFamily, address: Address) -> socket.socket:
    made = socket.socket(family, socket.SOCK_DGRAM)
    try:
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


class UdpMux(asyncio.DatagramProtocol):
    """The port, open for as long as the context; at `::` by IPv4 and IPv6."""

    def __init__(self, host: str, port: int) -> None:
        self._at = (host, port)
        self._transport: asyncio.DatagramTransport | None = None
        self._mapped = ""
        """What IPv4 addresses begin with for the socket."""
        self._connections: dict[str, IceServer] = {}
        self._addresses: dict[Address, IceServer] = {}

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        opened = bound(*self._at)
        self._mapped = _MAPPED if opened.family == socket.AF_INET6 else ""
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=opened)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._transport:
            self._transport.close()

    @property
    def port(self) -> int:
        """The port that it has."""
        port: int = self._transport.get_extra_info("sockname")[1] if self._transport else 0
        return port

    def register(self, connection: "IceServer") -> None:
        """Let datagrams of a guest in. Raises ResourceExhausted."""
        if len(self._connections) >= MAX_CONNECTIONS:
            raise ResourceExhausted(f"{MAX_CONNECTIONS} channels are open already", retry_after=1)
        self._connections[connection.local_username] = connection

    def unregister(self, connection: "IceServer") -> None:
        """Let none in any more."""
        self._connections.pop(connection.local_username, None)
        self._addresses = {address: one for address, one in self._addresses.items() if one is not connection}

    def send(self, data: bytes, address: Address) -> None:
        """Send a datagram."""
        if self._transport and not self._transport.is_closing():
            self._transport.sendto(data, address if ":" in address[0] else (self._mapped + address[0], address[1]))

    def datagram_received(self, data: bytes, address: tuple[Any, ...]) -> None:
        """Give a datagram to whom it belongs."""
        known: Address = (address[0].removeprefix(_MAPPED), address[1])
        try:
            connection = self._whose(data, known)
            if connection:
                connection.receive(data, known)
        except _BROKEN as broken:
            _log.debug("a datagram from %s is broken: %s", address[0], broken)

    def error_received(self, error: Exception) -> None:
        """An address does not answer; its connection finds out by itself."""
        _log.debug("a datagram was refused: %s", error)

    def _whose(self, data: bytes, address: Address) -> "IceServer | None":
        if not _is_stun(data):
            return self._addresses.get(address)
        message = stun.parse_message(data)
        if message.message_class != stun.Class.REQUEST:
            return self._addresses.get(address)
        name = str(message.attributes.get("USERNAME", ""))[:MAX_NAME_BYTES]
        connection = self._connections.get(name.partition(":")[0])
        if connection is None or not message.check_message_integrity(connection.local_password.encode()):
            return None
        if self._addresses.get(address) is not connection and not self._learn(connection, address):
            return None
        return connection

    def _learn(self, connection: "IceServer", address: Address) -> bool:
        if sum(one is connection for one in self._addresses.values()) >= MAX_ADDRESSES:
            return False
        self._addresses[address] = connection
        return True


def _is_stun(data: bytes) -> bool:
    return len(data) >= _STUN_BYTES and data[0] < 4 and data[4:8] == _COOKIE


class _MuxedSocket:
    """What aioice takes for the socket of one connection."""

    def __init__(self, mux: UdpMux, connection: "IceServer", protocol: StunProtocol) -> None:
        self._mux, self._connection, self._protocol = mux, connection, protocol

    def sendto(self, data: bytes, address: Address) -> None:
        """Send a datagram."""
        self._mux.send(data, address)

    def close(self) -> None:
        """Nothing comes in or goes out any more."""
        self._mux.unregister(self._connection)
        self._protocol.connection_lost(None)


class IceServer(Connection):
    """ICE with one viewer, through the door."""

    def __init__(self, mux: UdpMux, name: str, password: str) -> None:
        super().__init__(ice_controlling=False, local_username=name, local_password=password)
        self._mux = mux
        self._stun: StunProtocol | None = None

    def receive(self, data: bytes, address: Address) -> None:
        """Take a datagram."""
        if self._stun:
            self._stun.datagram_received(data, address)

    async def get_component_candidates(self, component: int, addresses: list[str], timeout: int = 5) -> list[Candidate]:
        """The door, as the one place where this side is."""
        self._stun = protocol = StunProtocol(self)
        protocol.connection_made(cast("asyncio.DatagramTransport", _MuxedSocket(self._mux, self, protocol)))
        protocol.local_candidate = Candidate(
            foundation="1", component=component, transport="udp", priority=1, host="0.0.0.0", port=self._mux.port, type="host"
        )
        self._protocols.append(protocol)
        self._mux.register(self)
        return [protocol.local_candidate]

    def data_received(self, data: bytes, component: int) -> None:
        """Take what is no STUN, unless too much waits."""
        if self._queue.qsize() < MAX_WAITING:
            super().data_received(data, component)


class IceClient(Connection):
    """ICE with a server that says where it is, from a port of IPv4's and one of IPv6's: the system chooses the addresses that reach it."""

    def __init__(self) -> None:
        super().__init__(ice_controlling=True)

    async def get_component_candidates(self, component: int, addresses: list[str], timeout: int = 5) -> list[Candidate]:
        """Any address of this machine's."""
        found = [await self._candidate(component, "0.0.0.0")]
        with suppress(OSError):  # there is no IPv6 on every machine
            found.append(await self._candidate(component, "::"))
        return found

    async def _candidate(self, component: int, host: str) -> Candidate:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_datagram_endpoint(lambda: StunProtocol(self), local_addr=(host, 0))
        port: int = transport.get_extra_info("sockname")[1]
        protocol.local_candidate = Candidate(str(len(self._protocols) + 1), component, "udp", 1, host, port, "host")
        self._protocols.append(protocol)
        return protocol.local_candidate

    async def intersects(self, host: str, port: int) -> None:
        """Say where the server is. Raises OSError where there is no such host."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        for number, (*_, address) in enumerate(found[:MAX_ADDRESSES], 1):
            await self.add_remote_candidate(Candidate(str(number), 1, "udp", 1, str(address[0]), int(address[1]), "host"))
        await self.add_remote_candidate(None)


async def address_of(host: str) -> str:
    """The IPv4 address that a name stands for here; nothing for an address, or where there is none.

    Firefox takes no candidate by its name.
    """
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return ""
    with suppress(OSError, UnicodeError):  # TimeoutError is an OSError
        async with asyncio.timeout(LOOKUP_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_DGRAM)
        return str(found[0][4][0])
    return ""
