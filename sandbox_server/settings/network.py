"""The network's variables; sections of `settings`. Stdlib only, for the sake of boot."""

import ipaddress
from dataclasses import dataclass

from sandbox_server.settings.kinds import PORT, Kind, integer, seconds, variable

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address
type Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Allowed:
    """A network, or a host by its name, and the one port of it that is meant; None means every port."""

    network: Network | None
    host: str | None
    port: int | None

    def covers(self, host: str, address: Address, port: int) -> bool:
        """Whether this entry matches a port of a host at an address."""
        if self.port is not None and self.port != port:
            return False
        return address in self.network if self.network else host.lower().rstrip(".") == self.host


def _read_entries(text: str) -> tuple[Allowed, ...]:
    return tuple(_entry(entry) for part in text.split(",") for entry in part.split())


def _entry(text: str) -> Allowed:
    try:
        return Allowed(ipaddress.ip_network(text, strict=False), None, None)
    except ValueError:
        host, colon, port = text.rpartition(":") if ":" in text else (text, "", "")
    if not host or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise ValueError(f"must hold hosts, addresses or networks, each with a port or without, not {text}")
    try:
        return Allowed(ipaddress.ip_network(host.strip("[]")), None, int(port) if port else None)
    except ValueError:
        return Allowed(None, host.lower().rstrip("."), int(port) if port else None)


ALLOWED: Kind[tuple[Allowed, ...]] = Kind("list", _read_entries)


@dataclass(frozen=True, slots=True)
class FetchingSettings:
    """Fetching documents"""

    allow: tuple[Allowed, ...] = variable(
        "FETCH_ALLOW",
        ALLOWED,
        (),
        "Internal hosts, addresses and networks (`wiki.corp`, `10.1.2.3:8080`, `10.0.0.0/8`) that "
        "`convert_to_markdown` may fetch from, besides public ones and the agent's own ports.",
    )
    max_bytes: int = variable("FETCH_MAX_BYTES", integer(1, 1 << 40), 64 << 20, "Largest document that it fetches, in bytes.")
    seconds: float = variable("FETCH_TIMEOUT_SECONDS", seconds(1, 3600), 20.0, "How long one fetch may take.")


MAX_PORTS = 64
"""Ports that one variable may name."""


def _read_ports(text: str) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(port for part in text.replace(",", " ").split() for port in _span(part)))
    if len(found) > MAX_PORTS:
        raise ValueError(f"must name at most {MAX_PORTS} ports")
    return found


def _span(text: str) -> range:
    first, dash, last = text.partition("-")
    low = PORT.parse(first)
    high = PORT.parse(last) if dash else low
    if not low <= high < low + MAX_PORTS:
        raise ValueError(f"must hold ports and short spans of them, as in 3000, 5173, 9000-9010, not {text}")
    return range(low, high + 1)


PORT_LIST: Kind[tuple[int, ...]] = Kind("ports", _read_ports)


@dataclass(frozen=True, slots=True)
class BoxPortsSettings:
    """Ports into and out of the box"""

    published: tuple[int, ...] = variable(
        "PUBLISHED_PORTS",
        PORT_LIST,
        (),
        "Ports of the agent's programs that the container listens on as well (`3000, 9000-9010`), for the engine's `--publish 3000:3000`. "
        "Whoever reaches them needs no key.",
    )
    forwarded: tuple[int, ...] = variable(
        "BOX_FORWARD_PORTS",
        PORT_LIST,
        (),
        "Ports of the container's loopback, as of added services, that programs in the box reach at their own.",
    )
