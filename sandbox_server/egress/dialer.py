"""Connections to the world outside: by name, never to an address that the policy refuses."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from sandbox_server.drivers.egress.policy import PROTECTED_RULE, Destination, EgressAction, EgressDecision
from sandbox_server.drivers.egress.protected_addresses import Address
from sandbox_server.drivers.egress.upstream import Upstream
from sandbox_server.egress.resolver import Resolver, UnresolvedName
from sandbox_server.egress.tls_bridge import bridge
from sandbox_server.egress.upstream_handshake import HANDSHAKES, UpstreamRefused

CONNECT_SECONDS = 10.0
"""How long one address may take."""
TOTAL_SECONDS = 30.0

type Refusal = Callable[[Address], EgressDecision | None]


class DialRefused(Exception):
    """The policy refuses every address that the name resolves to."""

    def __init__(self, decision: EgressDecision, address: Address) -> None:
        super().__init__(f"{address} is refused")
        self.decision = decision
        self.address = address


class DialFailed(Exception):
    """Nothing could be connected to; the message says why."""


def is_own(address: Address) -> bool:
    """Whether an address is one of this machine's: only to such a one does the kernel send from the same address."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect((str(address), 9))
        return str(probe.getsockname()[0]) == str(address)
    return False


class Dialer:
    """Connects by way of this machine's resolver, or of the proxy that `default` gives for a destination."""

    def __init__(self, resolver: Resolver, default: Callable[[Destination], Upstream | None] = lambda _: None, mark: int = 0) -> None:
        self._resolver = resolver
        self._default = default
        self._mark = mark
        """What rules of the container exempt the connections by (SO_MARK), where they do not exempt the user."""

    def proxies(self, destination: Destination) -> bool:
        """Whether `connect` goes by a proxy, which resolves the name itself."""
        return self._default(destination) is not None

    async def connect(self, destination: Destination, refusal: Refusal) -> tuple[socket.socket, Address]:
        """Connect to a destination; raises DialRefused and DialFailed. `refusal` decides on each address."""
        if upstream := self._default(destination):
            return await self.connect_through(upstream, destination)
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                return await self._first(await self._usable(destination, refusal), destination.port)
        except TimeoutError:
            raise DialFailed(f"{destination} did not answer within {TOTAL_SECONDS:g} s") from None
        except UnresolvedName as error:
            raise DialFailed(str(error)) from None

    async def connect_through(self, upstream: Upstream, destination: Destination) -> tuple[socket.socket, Address]:
        """Connect by an upstream proxy, which resolves the name itself. Raises DialFailed."""
        sock: socket.socket | None = None
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                sock, address = await self._first(await self._addresses(upstream.host), upstream.port)
                if upstream.scheme == "https":
                    sock = await bridge(sock, upstream.host)
                await HANDSHAKES[upstream.scheme](sock, upstream, destination)
                return sock, address
        except (TimeoutError, UnresolvedName, UpstreamRefused, OSError, DialFailed, asyncio.CancelledError) as error:
            if sock:
                sock.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise DialFailed(f"the upstream proxy failed: {error or 'it took too long'}") from None

    async def check(self, destination: Destination, refusal: Refusal) -> None:
        """Resolve a destination. Raises DialRefused if none of its addresses may be connected to, and DialFailed."""
        try:
            await self._usable(destination, refusal)
        except UnresolvedName as error:
            raise DialFailed(str(error)) from None

    async def _usable(self, destination: Destination, refusal: Refusal) -> list[Address]:
        found = [destination.address] if destination.address else await self._addresses(destination.name)
        usable, refused = [], None
        for address in found:
            decision = refusal(address) or _own_refusal(address)
            if decision is None:
                usable.append(address)
            else:
                refused = refused or DialRefused(decision, address)
        if refused and not usable:
            raise refused
        return usable

    async def _addresses(self, host: str) -> list[Address]:
        return list(await self._resolver.resolve(host))

    async def _first(self, addresses: list[Address], port: int) -> tuple[socket.socket, Address]:
        """Connect to the first address that accepts."""
        last: OSError | TimeoutError | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await _connected(address, port, self._mark), address
            except (OSError, TimeoutError) as error:
                last = error
        raise DialFailed(f"port {port}: {last.strerror if isinstance(last, OSError) and last.strerror else 'no answer'}")


async def _connected(address: Address, port: int, mark: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        if mark:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock


def _own_refusal(address: Address) -> EgressDecision | None:
    """Refuse an address of this machine, whatever network a rule names. The loopback was decided by rules."""
    return EgressDecision(EgressAction.DENY, PROTECTED_RULE) if not address.is_loopback and is_own(address) else None
