"""E2B's rules for what a sandbox reaches, as a network policy (docs/egress.md).

There, addresses and networks are denied, and what is allowed precedes what is denied. A name is allowed for HTTP and TLS.
"""

import ipaddress
from typing import Annotated, Any, Literal

from pydantic import Field

from tandem_fleet.e2b.messages import Message
from tandem_fleet.errors import InvalidError

MAX_RULES = 2000
EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})
Destinations = Annotated[list[Annotated[str, Field(min_length=1, max_length=255)]], Field(max_length=MAX_RULES)]


class NetworkRules(Message):
    """What a sandbox may reach. Nobody reaches its ports without a token: `allowPublicTraffic` changes nothing."""

    allow_out: Destinations = Field(default_factory=list)
    deny_out: Destinations = Field(default_factory=list)
    allow_internet_access: Annotated[bool, Field(alias="allow_internet_access")] = True
    dns_servers: list[Any] = Field(default_factory=list)
    egress_proxy: dict[str, Any] | None = None
    rules: dict[str, Any] = Field(default_factory=dict)

    @property
    def not_kept(self) -> str:
        """The name of a field that asks for something that the fleet does not do; empty where there is none."""
        asked = {"dnsServers": self.dns_servers, "egressProxy": self.egress_proxy, "rules": self.rules}
        return next((f"network.{name}" for name, value in asked.items() if value), "")

    @property
    def are_given(self) -> bool:
        """Whether anything is denied or allowed."""
        return bool(self.allow_out or self.deny_out or not self.allow_internet_access)

    def policy(self) -> dict[str, Any]:
        """The network policy. Raises `InvalidError` for what is no name, address or network, and for a name that is denied."""
        hosts = [entry for entry in self.allow_out if _network(entry) is None]
        allowed = [network for entry in self.allow_out if (network := _network(entry))]
        denied = [_denied(entry) for entry in self.deny_out]
        closed = not self.allow_internet_access or not EVERYWHERE.isdisjoint(denied)
        rules = [
            _rule("allowed names", "allow", "hosts", [_host(entry) for entry in hosts]),
            _rule("allowed networks", "allow", "cidrs", allowed),
            _rule("denied networks", "deny", "cidrs", [network for network in denied if network not in EVERYWHERE]),
        ]
        return {"default": "deny" if closed else "allow", "rules": [rule for rule in rules if rule]}


def _rule(name: str, action: Literal["allow", "deny"], field: str, values: list[str]) -> dict[str, Any]:
    return {"name": name, "action": action, field: values} if values else {}


def _network(entry: str) -> str | None:
    try:
        return str(ipaddress.ip_network(entry, strict=False))
    except ValueError:
        return None


def _denied(entry: str) -> str:
    network = _network(entry)
    if network is None:
        raise InvalidError(f"denyOut takes addresses and networks, and no {entry[:100]!r}")
    return network


def _host(entry: str) -> str:
    """A name, perhaps with `*.` in front, in lower case."""
    labels = entry.lower().removeprefix("*.").split(".")
    if not all(label and len(label) <= 63 and label.replace("-", "").replace("_", "").isalnum() and label.isascii() for label in labels):
        raise InvalidError(f"allowOut takes names, addresses and networks, and no {entry[:100]!r}")
    return entry.lower()
