"""Synthetic addresses of 198.18.0.0/15, one for each name that was asked for, in both directions.

The table is bounded: the name that was used longest ago gives way, but none with an open flow. Addresses are given out in a
random order through the whole network: none tells when its name was asked for, or that another one was, and one is reused as
late as possible. A file keeps the table for the next process.
"""

import hashlib
import os
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address

from sandbox_server.drivers.egress.host_names import normal_form
from sandbox_server.drivers.egress.synthetic_network import NETWORK
from sandbox_server.drivers.storage import atomic_write

MAX_NAMES = 16_384
_FIRST, _LAST = 2, NETWORK.num_addresses - 2
_HALF_BITS = 9
"""Half of the bits of a number that is enough for each address."""
_ROUNDS = 4
_LINES_PER_NAME = 4
"""How many lines of the file there may be for each name that the table holds, before the file is written anew."""
_MAX_FILE = 64 << 20


class NamesExhausted(Exception):
    """Every name of the table has an open flow."""


class NameTable:
    """The table. `path` is the file that keeps it; without one it ends with the process."""

    def __init__(self, path: str | None = None, capacity: int = MAX_NAMES) -> None:
        self._path = path
        self._capacity = capacity
        self._offsets: OrderedDict[str, int] = OrderedDict()
        self._names: dict[int, str] = {}
        self._flows: dict[str, int] = {}
        self._next = 0
        """The next place in the order of addresses."""
        self._order = secrets.token_bytes(16)
        self._lines = 0
        self._file = -1
        if path:
            self._load(path)
            self._rewrite()

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __len__(self) -> int:
        return len(self._offsets)

    def address_of(self, name: str) -> IPv4Address:
        """Return the address of a name in normal form, a new one if it has none; raises NamesExhausted."""
        offset = self._offsets.get(name)
        if offset is None:
            offset = self._assign(name)
            self._keep(f"{offset} {name}\n")
        self._offsets.move_to_end(name)
        return NETWORK[offset]

    def name_of(self, address: IPv4Address) -> str | None:
        """Return the name of an address; None if no name has it."""
        return self._names.get(int(address) - int(NETWORK.network_address))

    @contextmanager
    def open_flow(self, name: str) -> Iterator[None]:
        """Keep the address of a name while a flow to it is open. That counts as a use: programs remember addresses."""
        if name in self._offsets:
            self._offsets.move_to_end(name)
        self._flows[name] = self._flows.get(name, 0) + 1
        try:
            yield
        finally:
            self._flows[name] -= 1
            if not self._flows[name]:
                del self._flows[name]

    def _assign(self, name: str) -> int:
        if len(self._offsets) >= self._capacity:
            self._evict()
        while (offset := self._next_offset()) in self._names:
            continue
        self._put(offset, name)
        return offset

    def _next_offset(self) -> int:
        count = _LAST - _FIRST + 1
        place, self._next = self._next, (self._next + 1) % count
        while (place := _permuted(place, self._order)) >= count:  # the numbers of the permutation are more
            continue
        return _FIRST + place

    def _put(self, offset: int, name: str) -> None:
        self._offsets[name] = offset
        self._names[offset] = name

    def _evict(self) -> None:
        """Forget the name that was used longest ago. Those with open flows count as just used."""
        for _ in range(len(self._offsets)):
            oldest = next(iter(self._offsets))
            if oldest not in self._flows:
                del self._names[self._offsets.pop(oldest)]
                return
            self._offsets.move_to_end(oldest)
        raise NamesExhausted

    def _load(self, path: str) -> None:
        """Read the file; the last line about a name or an address counts, and what is no line of the table is left out."""
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                lines = file.read(_MAX_FILE).splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            with suppress(ValueError):
                self._replay(line)

    def _replay(self, line: str) -> None:
        number, _, name = line.partition(" ")
        offset = int(number)
        if not (_FIRST <= offset <= _LAST and normal_form(name) == name):
            return
        self._names.pop(self._offsets.pop(name, -1), None)
        self._offsets.pop(self._names.pop(offset, ""), None)
        if len(self._offsets) >= self._capacity:
            self._evict()
        self._put(offset, name)

    def _keep(self, line: str) -> None:
        if not self._path:
            return
        if self._lines >= _LINES_PER_NAME * self._capacity:
            self._rewrite()
        else:
            self._lines += 1
            with suppress(OSError):  # on a full disk the table holds until this process ends
                os.write(self._file, line.encode("ascii"))

    def _rewrite(self) -> None:
        assert self._path
        self.close()
        with suppress(OSError):
            atomic_write.replace(self._path, "".join(f"{offset} {name}\n" for name, offset in self._offsets.items()))
        self._lines = len(self._offsets)
        with suppress(OSError):
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _permuted(number: int, key: bytes) -> int:
    """Return where a number of twice `_HALF_BITS` is in the order of a key: a Feistel network, which gives each number once."""
    left, right = number >> _HALF_BITS, number & ((1 << _HALF_BITS) - 1)
    for turn in range(_ROUNDS):
        mixed = hashlib.blake2b(bytes((turn, *right.to_bytes(2))), key=key, digest_size=2).digest()
        left, right = right, left ^ (int.from_bytes(mixed) & ((1 << _HALF_BITS) - 1))
    return left << _HALF_BITS | right
