"""Addresses that callers name and the service connects to: public ones alone, looked up once, and used as they were looked up."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from tandem_fleet.errors import InvalidError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LOOKUP_SECONDS = 5.0
LONGEST_URL = 2048
_TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"), ipaddress.ip_network("2002::/16"))
"""IPv6 networks whose addresses lead to an IPv4 address."""


def read_networks(text: str) -> tuple[Network, ...]:
    """Networks of a list with commas. Raises `InvalidError`."""
    try:
        return tuple(ipaddress.ip_network(word.strip()) for word in text.split(",") if word.strip())
    except ValueError as error:
        raise InvalidError(f"no network: {error}") from error


def split_url(url: str) -> SplitResult:
    """The parts of a URL that may be called. Raises `InvalidError`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidError(f"{url[:200]!r} is no URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or len(url) > LONGEST_URL or not url.isascii():
        raise InvalidError("the URL begins with https:// or http:// and names a host, in 2048 ASCII characters at most")
    if parts.username is not None or parts.password is not None or any(character <= " " or character == "\x7f" for character in url):
        raise InvalidError("the URL holds no credentials and no spaces")
    return parts


def is_public(address: Address) -> bool:
    """Whether an address is somebody's on the internet, and not this machine's or network's."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in _TRANSLATED) or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


@dataclass(frozen=True)
class Target:
    """Where a call goes: the URL with the address in place of the name, and the name."""

    url: str
    host: str
    """As the header `Host` has it."""
    name: str
    """Whose certificate it must have."""


async def pin(url: str, allowed: Sequence[Network]) -> Target:
    """Look a URL's host up. Raises `InvalidError` where it is not found, or one of its addresses is private and not allowed."""
    parts = split_url(url)
    name = parts.hostname or ""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(name, parts.port or parts.scheme, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        raise InvalidError(f"the host {name!r} is not found") from error
    addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    for address in addresses:
        if not is_public(address) and not any(address.version == network.version and address in network for network in allowed):
            raise InvalidError(f"the host {name!r} has an address that is not public")
    chosen = addresses[0]
    shown = f"[{chosen}]" if chosen.version == 6 else str(chosen)
    port = f":{parts.port}" if parts.port else ""
    host = f"[{name}]{port}" if ":" in name else f"{name}{port}"
    query = f"?{parts.query}" if parts.query else ""
    return Target(f"{parts.scheme}://{shown}{port}{parts.path or '/'}{query}", host, name)
