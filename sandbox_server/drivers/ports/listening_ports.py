"""The listening TCP ports of this machine and their users (`/proc/net/tcp`, proc_net_tcp(5))."""

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
"""Docker's embedded DNS resolver, which is no program in the container."""
FIRST_LOOK_SECONDS = 0.02
LAST_LOOK_SECONDS = 0.25
"""The longest interval in seconds between two checks for a listener."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket."""

    address: IPv4Address | IPv6Address
    port: int
    uid: int
    """The user id that opened it."""
    inode: int = 0
    """The kernel's inode number of the socket, by which its process is found."""

    @property
    def authority(self) -> str:
        """Host and port to connect to, as in a URL. An unspecified address is reached by its family's loopback."""
        if isinstance(self.address, IPv4Address):
            return f"{'127.0.0.1' if self.address.is_unspecified else self.address}:{self.port}"
        return f"[{'::1' if self.address.is_unspecified else self.address}]:{self.port}"


def listeners(proc: str = "/proc/net") -> Iterator[Listener]:
    """Yield every listening TCP socket of this network namespace, IPv4 first."""
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
    """Parse the kernel's form: 32-bit words in host byte order, as hexadecimal numbers."""
    words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
    packed = b"".join(struct.pack("=I", word) for word in words)
    return ip_address(socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed))


class Ports:
    """The ports that may be previewed: those of the agent and of added services, never the sandbox's own.

    The ports of `editors` are for signed-in callers only: they are neither listed nor shared.
    """

    def __init__(self, own_ports: Iterable[int], own_uids: Iterable[int], proc: str = "/proc/net", editors: Iterable[int] = ()) -> None:
        self._own_ports = frozenset(own_ports)
        self._editors = frozenset(editors)
        self._own_uids = frozenset(own_uids)
        self._proc = proc

    async def upstream(self, port: int) -> str:
        """Return the address to connect to for a preview of `port`: a loopback address with a listener, else IPv4's.

        Raises InvalidArgument for an invalid number, PermissionDenied for a port of the sandbox itself.
        """
        if not 0 < port < 65536:
            raise InvalidArgument(f"{port} is not a port", port=port)
        if port in self._own_ports:
            raise _own_port_error(port)
        found = await asyncio.to_thread(self._on, port)
        if any(listener.uid in self._own_uids for listener in found):
            raise _own_port_error(port)
        reachable = [listener.authority for listener in found if listener.address.is_unspecified or listener.address.is_loopback]
        return next(iter(reachable or [listener.authority for listener in found]), f"127.0.0.1:{port}")

    def check_shareable(self, port: int) -> None:
        """Raise PermissionDenied for a port that cannot be shared with callers who are not signed in."""
        if port in self._editors:
            raise PermissionDenied(f"port {port} is an editor's: it runs commands, and is not shared", port=port)
        if port in self._own_ports:
            raise _own_port_error(port)

    async def open(self) -> list[Listener]:
        """Return the listeners that may be previewed by anyone, in the kernel's order."""
        found = await asyncio.to_thread(lambda: list(listeners(self._proc)))
        own = self._own_ports | self._editors | {listener.port for listener in found if listener.uid in self._own_uids}
        return [listener for listener in found if listener.port not in own and listener.address != ENGINES_RESOLVER]

    async def wait(self, port: int, timeout: float) -> bool:
        """Wait until a program listens on a port. Return False after `timeout` seconds. Raises as `upstream` does.

        The kernel sends no event for a listening socket (sock_diag(7) only answers queries), so this polls at growing
        intervals.
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


def _own_port_error(port: int) -> PermissionDenied:
    return PermissionDenied(f"port {port} belongs to the sandbox itself", port=port)
