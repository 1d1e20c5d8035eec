"""Addresses that every policy denies unless a CIDR rule names them: metadata services, this machine, private networks.

A rule names a protected address only if its network lies within the smallest block here that holds the address. So
`10.0.0.0/8` names private hosts, `0.0.0.0/0` names none, and a metadata service is named by its own address alone.
"""

import ipaddress
from dataclasses import dataclass

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address
type Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_METADATA = (
    "169.254.169.254",  # AWS, GCP, Azure, DigitalOcean, Hetzner, IBM, OpenStack, Oracle
    "169.254.169.253",  # AWS: resolver
    "169.254.169.123",  # AWS: time
    "169.254.170.2",  # AWS ECS: credentials of a task
    "169.254.170.23",  # AWS EKS: identity of a pod
    "fd00:ec2::254",  # AWS
    "fd00:ec2::253",
    "fd00:ec2::123",
    "fd00:ec2::23",
    "fd20:ce::254",  # GCP
    "168.63.129.16",  # Azure: wire server
    "100.100.100.200",  # Alibaba
    "192.0.0.192",  # Oracle, classic
    "169.254.0.23",  # Tencent
    "169.254.42.42",  # Scaleway
    "fd00:42::42",
    "fd00:a9fe:a9fe::254",  # Linode
    "fd00:c1::a9fe:a9fe",  # Oracle
    "fe80::a9fe:a9fe",  # OpenStack
)
_BLOCKS = {
    "the machine itself": ("0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"),
    "a private network": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    "a shared address of carriers": ("100.64.0.0/10",),
    "the local link": ("169.254.0.0/16", "fe80::/10"),
    "a multicast group": ("224.0.0.0/4", "ff00::/8"),
    "a network for tests": (
        "198.18.0.0/15",
        "192.0.2.0/24",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "2001:db8::/32",
        "3fff::/20",
        "2001:2::/48",
    ),
    "a reserved network": ("192.0.0.0/24", "240.0.0.0/4", "100::/64", "5f00::/16"),
}
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


@dataclass(frozen=True, slots=True)
class Protected:
    """The smallest protected block that holds an address, and what it is."""

    network: Network
    kind: str

    def named_by(self, network: Network) -> bool:
        """Whether a rule's network is narrow enough to name addresses of this block."""
        return network.version == self.network.version and network.prefixlen >= self.network.prefixlen


def _blocks() -> list[Protected]:
    found = [Protected(ipaddress.ip_network(text), kind) for kind, texts in _BLOCKS.items() for text in texts]
    found += [Protected(ipaddress.ip_network(text), "a metadata service") for text in _METADATA]
    return sorted(found, key=lambda block: -block.network.prefixlen)


_PROTECTED = _blocks()
_BY_VERSION = {version: [block for block in _PROTECTED if block.network.version == version] for version in (4, 6)}


def parse_address(text: str) -> Address:
    """Parse an address, without its zone, and unwrap an IPv4 address that an IPv6 address stands for; raises ValueError."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return _embedded(address) or address if isinstance(address, ipaddress.IPv6Address) else address


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Find the IPv4 address in a mapped, 6to4, Teredo, NAT64 or IPv4-compatible address."""
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if any(address in network for network in _NAT64) or 1 < int(address) < 1 << 32:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def protection(address: Address) -> Protected | None:
    """Find the smallest protected block that holds an address; None for a public one."""
    return next((block for block in _BY_VERSION[address.version] if address in block.network), None)
