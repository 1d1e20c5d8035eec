"""A UDP multiplexer: one port for the ICE connections of all viewers. aioice by itself opens a port for each address and connection.

A datagram belongs to the connection whose ICE user name and password a binding request from its address has proved to know. Everything
else is dropped. The server sends to such addresses alone: it takes no candidates from a viewer, so nobody can point it at the network
around it.
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
"""Addresses of one viewer: its networks, and what a NAT made of them."""
MAX_WAITING = 512
"""Datagrams of one viewer that may wait to be read."""
MAX_NAME_BYTES = 513
_MAPPED = "::ffff:"
"""Prefix of IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2)."""
LOOKUP_SECONDS = 2.0
_STUN_BYTES = 20
_COOKIE = b"\x21\x12\xa4\x42"
_BROKEN = (ValueError, KeyError, IndexError, AssertionError, struct.error)
"""What aioice raises for malformed STUN."""
_log = logging.getLogger(__name__)

type Address = tuple[str, int]


def bound(host: str, port: int) -> socket.socket:
    """A UDP socket bound there. At `::` it takes IPv4 too, and IPv4 alone where there is no IPv6. Raises OSError."""
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
    """The multiplexer, open for as long as the context."""

    def __init__(self, host: str, port: int) -> None:
        self._at = (host, port)
        self._transport: asyncio.DatagramTransport | None = None
        self._mapped = ""
        """The prefix that the socket needs before IPv4 addresses."""
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
        """The port that the socket has."""
        port: int = self._transport.get_extra_info("sockname")[1] if self._transport else 0
        return port

    def register(self, connection: "IceServer") -> None:
        """Let datagrams of a connection in. Raises ResourceExhausted."""
        if len(self._connections) >= MAX_CONNECTIONS:
            raise ResourceExhausted(f"{MAX_CONNECTIONS} channels are open already", retry_after=1)
        self._connections[connection.local_username] = connection

    def unregister(self, connection: "IceServer") -> None:
        """Drop the datagrams of a connection from now on."""
        self._connections.pop(connection.local_username, None)
        self._addresses = {address: one for address, one in self._addresses.items() if one is not connection}

    def send(self, data: bytes, address: Address) -> None:
        """Send a datagram."""
        if self._transport and not self._transport.is_closing():
            self._transport.sendto(data, address if ":" in address[0] else (self._mapped + address[0], address[1]))

    def datagram_received(self, data: bytes, address: tuple[Any, ...]) -> None:
        """Pass a datagram to the connection that it belongs to."""
        known: Address = (address[0].removeprefix(_MAPPED), address[1])
        try:
            connection = self._connection_of(data, known)
            if connection:
                connection.receive(data, known)
        except _BROKEN as broken:
            _log.debug("a datagram from %s is broken: %s", address[0], broken)

    def error_received(self, error: Exception) -> None:
        """Note that an address does not answer; its connection finds out by itself."""
        _log.debug("a datagram was refused: %s", error)

    def _connection_of(self, data: bytes, address: Address) -> "IceServer | None":
        if not _is_stun(data):
            return self._addresses.get(address)
        message = stun.parse_message(data)
        if message.message_class != stun.Class.REQUEST:
            return self._addresses.get(address)
        name = str(message.attributes.get("USERNAME", ""))[:MAX_NAME_BYTES]
        connection = self._connections.get(name.partition(":")[0])
        if connection is None or not message.check_message_integrity(connection.local_password.encode()):
            return None
        if self._addresses.get(address) is not connection and not self._admit_address(connection, address):
            return None
        return connection

    def _admit_address(self, connection: "IceServer", address: Address) -> bool:
        if sum(one is connection for one in self._addresses.values()) >= MAX_ADDRESSES:
            return False
        self._addresses[address] = connection
        return True


def _is_stun(data: bytes) -> bool:
    return len(data) >= _STUN_BYTES and data[0] < 4 and data[4:8] == _COOKIE


class _MuxedSocket:
    """The socket of one connection, as aioice sees it: its datagrams go through the multiplexer."""

    def __init__(self, mux: UdpMux, connection: "IceServer", protocol: StunProtocol) -> None:
        self._mux, self._connection, self._protocol = mux, connection, protocol

    def sendto(self, data: bytes, address: Address) -> None:
        """Send a datagram."""
        self._mux.send(data, address)

    def close(self) -> None:
        """Unregister the connection."""
        self._mux.unregister(self._connection)
        self._protocol.connection_lost(None)


class IceServer(Connection):
    """The server's ICE agent for one viewer, through the multiplexer. The viewer controls."""

    def __init__(self, mux: UdpMux, name: str, password: str) -> None:
        super().__init__(ice_controlling=False, local_username=name, local_password=password)
        self._mux = mux
        self._stun: StunProtocol | None = None

    def receive(self, data: bytes, address: Address) -> None:
        """Take a datagram of the viewer's."""
        if self._stun:
            self._stun.datagram_received(data, address)

    async def get_component_candidates(self, component: int, addresses: list[str], timeout: int = 5) -> list[Candidate]:
        """The multiplexer's port, as the only candidate of this side."""
        self._stun = protocol = StunProtocol(self)
        protocol.connection_made(cast("asyncio.DatagramTransport", _MuxedSocket(self._mux, self, protocol)))
        protocol.local_candidate = Candidate(
            foundation="1", component=component, transport="udp", priority=1, host="0.0.0.0", port=self._mux.port, type="host"
        )
        self._protocols.append(protocol)
        self._mux.register(self)
        return [protocol.local_candidate]

    def data_received(self, data: bytes, component: int) -> None:
        """Take a datagram that is no STUN, unless too many wait."""
        if self._queue.qsize() < MAX_WAITING:
            super().data_received(data, component)


class IceClient(Connection):
    """A client's ICE agent for a server of a known address, from one IPv4 and one IPv6 port. The system chooses the source addresses."""

    def __init__(self) -> None:
        super().__init__(ice_controlling=True)

    async def get_component_candidates(self, component: int, addresses: list[str], timeout: int = 5) -> list[Candidate]:
        """The wildcard addresses of this machine."""
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

    async def connect_to(self, host: str, port: int) -> None:
        """Add the server's addresses as its candidates. Raises OSError where there is no such host."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        for number, (*_, address) in enumerate(found[:MAX_ADDRESSES], 1):
            await self.add_remote_candidate(Candidate(str(number), 1, "udp", 1, str(address[0]), int(address[1]), "host"))
        await self.add_remote_candidate(None)


async def address_of(host: str) -> str:
    """The IPv4 address that a host name resolves to here; empty for an address, or where there is none.

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
