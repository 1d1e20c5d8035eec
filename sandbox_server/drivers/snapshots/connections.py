"""TCP connections to the outside, by /proc/net/tcp (proc(5)): a kernel may refuse to save them, and they end with the snapshot."""

import ipaddress
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TIME_WAIT, _CLOSE, _LISTEN = 6, 7, 10
_STATES = frozenset({_TIME_WAIT, _CLOSE, _LISTEN})
"""States of sockets that are not connected."""


@dataclass(frozen=True, slots=True)
class OuterConnection:
    """One connection: both ends as `address:port`, and the user id that it belongs to."""

    local: str
    remote: str
    uid: int


def outer_connections(proc: str = "/proc") -> list[OuterConnection]:
    """Return the connections whose other end is not on this computer's loopback."""
    return [found for name in ("tcp", "tcp6") for found in _in_table(Path(proc, "net", name))]


def _in_table(table: Path) -> Iterator[OuterConnection]:
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except FileNotFoundError:  # no IPv6
        return
    for line in lines:
        words = line.split()
        (local, local_port), (remote, remote_port) = (_end(word) for word in words[1:3])
        if int(words[3], 16) not in _STATES and not remote.is_loopback:
            yield OuterConnection(f"{local}:{local_port}", f"{remote}:{remote_port}", int(words[7]))


def _end(word: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    """Parse an end: the address in words of the machine's own order."""
    address, _, port = word.partition(":")
    parts = struct.unpack(f">{len(address) // 8}I", bytes.fromhex(address))
    found = ipaddress.ip_address(struct.pack(f"{'<' if sys.byteorder == 'little' else '>'}{len(parts)}I", *parts))
    return getattr(found, "ipv4_mapped", None) or found, int(port, 16)
