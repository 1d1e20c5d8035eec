"""The index of a policy's rules: its time does not grow with their number.

Names are looked up in dictionaries, networks in one dictionary for each prefix length. Each lookup gives buckets of rule
numbers in ascending order, so the caller needs the first match of each bucket and the least of those.
"""

import itertools
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address

from sandbox_server.drivers.egress.host_names import parents
from sandbox_server.drivers.egress.protected_addresses import Address, Network

EVERY_NAME = "*"
BELOW = "*."
"""How a host begins that stands for all names below a name."""
type Bucket = int | tuple[int, ...]
"""The rules for one key; a number alone is the usual case, and takes less room than a tuple."""


class RuleIndex:
    """An index of rules by hosts and networks; a rule's number is its place in the list. It shares the rules' strings, to stay small."""

    def __init__(self, rules: Iterable[tuple[Sequence[str], Sequence[Network]]]) -> None:
        self._hosts: dict[str, Bucket] = {}
        self._networks: dict[tuple[int, int], dict[int, Bucket]] = {}
        for number, (hosts, networks) in enumerate(rules):
            for host in dict.fromkeys(hosts):
                _add(self._hosts, host, number)
            for network in dict.fromkeys(networks):
                self._add_network(network, number)

    def _add_network(self, network: Network, number: int) -> None:
        shift = network.max_prefixlen - network.prefixlen
        _add(self._networks.setdefault((network.version, shift), {}), int(network.network_address) >> shift, number)

    def for_name(self, name: str) -> list[tuple[int, ...]]:
        """Return the rules for a name in normal form."""
        keys = (name, EVERY_NAME, *(BELOW + parent for parent in parents(name)))
        return [_numbers(self._hosts[key]) for key in keys if key in self._hosts]

    def for_address(self, address: Address) -> list[tuple[int, ...]]:
        """Return the rules whose networks hold an address."""
        version, number = (6 if isinstance(address, IPv6Address) else 4), int(address)
        return [_numbers(found.get(number >> shift, ())) for (of, shift), found in self._networks.items() if of == version]

    @property
    def fullest(self) -> int:
        """The number of rules in the fullest bucket, of which a lookup looks at each."""
        buckets = itertools.chain(self._hosts.values(), *(found.values() for found in self._networks.values()))
        return max((len(_numbers(bucket)) for bucket in buckets), default=0)


def _numbers(bucket: Bucket) -> tuple[int, ...]:
    return (bucket,) if isinstance(bucket, int) else bucket


def _add[Key](buckets: dict[Key, Bucket], key: Key, number: int) -> None:
    known = buckets.get(key)
    buckets[key] = number if known is None else (*_numbers(known), number)
