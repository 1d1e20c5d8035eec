"""Which addresses the server may fetch from for a caller: public ones, and those in a setting.

A name is resolved once, and the connection goes to the checked addresses. So a name that resolves differently the next
time (DNS rebinding) gains nothing.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sandbox_server.core.errors import Conflict, Failure, PermissionDenied
from sandbox_server.settings.network import Allowed

RESOLVE_SECONDS = 10.0
INTERNAL_HINT = "FETCH_ALLOW names the internal hosts and networks that may be fetched from."
METADATA = frozenset({"168.63.129.16"})
"""Public addresses of cloud metadata services. Most others are link-local or private."""
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that NAT64 translates to the IPv4 address in their last 32 bits (RFC 6052)."""

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AgentPorts(Protocol):
    """Knows which ports of this machine are the agent's; `drivers.ports.Ports` implements it."""

    async def upstream(self, port: int) -> str: ...


@dataclass(frozen=True, slots=True)
class WebReach:
    """Checks where to connect."""

    ports: AgentPorts
    allowed: Sequence[Allowed] = ()

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host, if all of them are allowed.

        Raises PermissionDenied if one of them is internal, Conflict if there is none.
        """
        found = await _resolve(host, port)
        for address in found:
            if not await self._allows(host, address, port):
                raise PermissionDenied(
                    f"{host} is at an internal address",
                    hint=INTERNAL_HINT,
                    host=host,
                )
        return [str(address) for address in found]

    async def _allows(self, host: str, address: Address, port: int) -> bool:
        if is_public(address) or any(entry.covers(host, address, port) for entry in self.allowed):
            return True
        return address.is_loopback and await self._is_agents(port)

    async def _is_agents(self, port: int) -> bool:
        """Whether the listener on the port is the agent's, who could fetch from it as well."""
        try:
            await self.ports.upstream(port)
        except Failure:
            return False
        return True


async def _resolve(host: str, port: int) -> list[Address]:
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        raise Conflict(f"{host} has no address", reason="not_found") from None
    return list(dict.fromkeys(ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found))


def is_public(address: Address) -> bool:
    """Whether an address, and every address that it translates to, is a public one."""
    return all(each.is_global and not each.is_multicast and str(each) not in METADATA for each in _translated_addresses(address))


def _translated_addresses(address: Address) -> list[Address]:
    """Return the address, or those that it translates to."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    inner: list[Address | None] = [address.sixtofour, *(address.teredo or ())]
    if address in TRANSLATED:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *(each for each in inner if each)]
