"""The network's variables; sections of `settings`. Stdlib only, for the sake of boot."""

import ipaddress
from dataclasses import dataclass

from sandbox_server.settings.kinds import Kind, integer, seconds, variable

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
