"""Which TCP ports of this machine somebody listens on, and whose they are (`/proc/net/tcp`, proc_net_tcp(5))."""

import asyncio
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from sandbox_server.core.errors import InvalidArgument, PermissionDenied

_LISTEN = "0A"
ENGINES_RESOLVER = IPv4Address("127.0.0.11")
"""Where Docker answers questions about names; nobody in the container put it there."""
FIRST_LOOK_SECONDS = 0.02
LAST_LOOK_SECONDS = 0.25
"""How long it is at first, and later, between two looks for a listener."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that accepts connections."""

    address: IPv4Address | IPv6Address
    port: int
    uid: int
    """Who opened it."""
    inode: int = 0
    """The kernel's number of the socket, by which its holder is found."""

    @property
    def authority(self) -> str:
        """Where to connect to reach it, as in a URL: an unspecified address is reached at its family's loopback."""
        if isinstance(self.address, IPv4Address):
            return f"{'127.0.0.1' if self.address.is_unspecified else self.address}:{self.port}"
        return f"[{'::1' if self.address.is_unspecified else self.address}]:{self.port}"


def listeners(proc: str = "/proc/net") -> Iterator[Listener]:
    """Every listening TCP socket of this network namespace, IPv4 first."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (Path(proc) / name).read_text().splitlines()[1:]
        except FileNotFoundError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN:
                address, _, port = fields[1].partition(":")
                yield Listener(_address(address), int(port, 16), int(fields[7]), int(fields[9]))


def _address(text: str) -> IPv4Address | IPv6Address:
    """Read the kernel's form: 32-bit words in host byte order, printed as hexadecimal numbers."""
    words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
    packed = b"".join(struct.pack("=I", word) for word in words)
    return ip_address(socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed))


class Ports:
    """The ports that may be previewed: those of the agent and of added services, never the sandbox's own.

    Those of the `editors` are for who is signed in: they are neither listed nor shown to others, whoever listens on them.
    """

    def __init__(self, own_ports: Iterable[int], own_uids: Iterable[int], proc: str = "/proc/net", editors: Iterable[int] = ()) -> None:
        self._own_ports = frozenset(own_ports)
        self._editors = frozenset(editors)
        self._own_uids = frozenset(own_uids)
        self._proc = proc

    async def upstream(self, port: int) -> str:
        """Where to connect for a preview of `port`: the loopback address that somebody listens on, else IPv4's.

        Raises InvalidArgument for a number that is no port, PermissionDenied for a port of the sandbox itself.
        """
        if not 0 < port < 65536:
            raise InvalidArgument(f"{port} is not a port", port=port)
        if port in self._own_ports:
            raise _own(port)
        found = await asyncio.to_thread(self._on, port)
        if any(listener.uid in self._own_uids for listener in found):
            raise _own(port)
        reachable = [listener.authority for listener in found if listener.address.is_unspecified or listener.address.is_loopback]
        return next(iter(reachable or [listener.authority for listener in found]), f"127.0.0.1:{port}")

    def check_shareable(self, port: int) -> None:
        """Raise PermissionDenied for a port that nobody may see who is not signed in."""
        if port in self._editors:
            raise PermissionDenied(f"port {port} is an editor's: it runs commands, and is not shared", port=port)
        if port in self._own_ports:
            raise _own(port)

    async def open(self) -> list[Listener]:
        """Everything that is listened on and may be previewed by anybody, in the order of the kernel."""
        found = await asyncio.to_thread(lambda: list(listeners(self._proc)))
        own = self._own_ports | self._editors | {listener.port for listener in found if listener.uid in self._own_uids}
        return [listener for listener in found if listener.port not in own and listener.address != ENGINES_RESOLVER]

    async def wait(self, port: int, timeout: float) -> bool:
        """Wait until somebody listens on a port; False after `timeout` seconds. Raises as `upstream` does.

        The kernel tells nobody that a socket listens (sock_diag(7) only answers), so that it is looked, ever less often.
        """
        deadline, pause = time.monotonic() + timeout, FIRST_LOOK_SECONDS
        while True:
            await self.upstream(port)
            if await asyncio.to_thread(self._on, port):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 1.5, LAST_LOOK_SECONDS)

    def _on(self, port: int) -> list[Listener]:
        return [listener for listener in listeners(self._proc) if listener.port == port]


def _own(port: int) -> PermissionDenied:
    return PermissionDenied(f"port {port} belongs to the sandbox itself", port=port)
