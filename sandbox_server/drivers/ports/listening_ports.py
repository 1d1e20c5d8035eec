"""The listening TCP ports of the container and of the box, and their users (`/proc/net/tcp`, proc_net_tcp(5))."""

import asyncio
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from sandbox_server.core.errors import InvalidArgument, PermissionDenied

_LISTEN = "0A"
ENGINES_RESOLVER = IPv4Address("127.0.0.11")
"""Docker's embedded DNS resolver, which is no program in the container."""
FIRST_LOOK_SECONDS = 0.02
KNOWN_SECONDS = 1.0
"""How long a listener in the box is taken to be there: the kernel needs milliseconds to write the table of all connections."""
MAX_KNOWN = 256
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
    """Yield every listening TCP socket of a network namespace, IPv4 first. A process that has ended has none."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (Path(proc) / name).read_text().splitlines()[1:]
        except OSError:  # without IPv6, or its process has ended
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


@dataclass(frozen=True, slots=True)
class PortPlace:
    """Where a preview connects to: host and port, in the container's network or in the box's."""

    authority: str
    in_box: bool = False


def box_table(pid_file: str, proc: str = "/proc") -> str | None:
    """Return the directory with the tables of the box's network, by a program of ours that is in it; None while there is none."""
    try:
        pid = int(Path(pid_file).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return f"{proc}/{pid}/net"


class Ports:
    """The ports that may be previewed: those of the agent and of added services, never the sandbox's own.

    The ports of `editors` are for signed-in callers only: they are neither listed nor shared. `box` returns the directory
    with the tables of the box's own network, where it has one; then the agent's programs are there, and only added
    services are in the container's.
    """

    def __init__(
        self,
        own_ports: Iterable[int],
        own_uids: Iterable[int],
        proc: str = "/proc/net",
        editors: Iterable[int] = (),
        box: Callable[[], str | None] | None = None,
        published: Iterable[int] = (),
    ) -> None:
        """`published` are ports of the box on which the container listens as well."""
        self._own_ports = frozenset(own_ports)
        self._editors = frozenset(editors)
        self._own_uids = frozenset(own_uids)
        self._proc = proc
        self._box = box
        self._published = frozenset(published)
        self._known: dict[int, tuple[PortPlace, float]] = {}

    @property
    def has_box(self) -> bool:
        """Whether the agent's programs are in a network of their own."""
        return self._box is not None

    async def upstream(self, port: int) -> str:
        """Return host and port to connect to for a preview; see `place`."""
        return (await self.place(port)).authority

    async def place(self, port: int) -> PortPlace:
        """Return where to connect to for a preview of `port`: a loopback address with a listener, else IPv4's.

        Raises InvalidArgument for an invalid number, PermissionDenied for a port of the sandbox itself.
        """
        if not 0 < port < 65536:
            raise InvalidArgument(f"{port} is not a port", port=port)
        if port in self._own_ports:
            raise _own_port_error(port)
        known, until = self._known.get(port, (None, 0.0))
        if known and time.monotonic() < until:
            return known
        place, in_box = await asyncio.to_thread(self._look_for, port)
        if in_box:
            self._keep(port, place)
        return place

    def check_shareable(self, port: int) -> None:
        """Raise PermissionDenied for a port that cannot be shared with callers who are not signed in."""
        if port in self._editors:
            raise PermissionDenied(f"port {port} is an editor's: it runs commands, and is not shared", port=port)
        if port in self._own_ports:
            raise _own_port_error(port)

    async def open(self) -> list[Listener]:
        """Return the listeners that may be previewed by anyone, in the kernel's order."""
        return await asyncio.to_thread(lambda: [*self._open(self._in_box()), *self._open(self._outside())])

    async def listens(self, port: int) -> bool:
        """Whether a program of the agent's or an added service listens on a port."""
        in_box, outside = await asyncio.to_thread(self._on, port)
        return bool(in_box) or any(not self.has_box or listener.uid not in self._own_uids for listener in outside)

    async def wait(self, port: int, timeout: float) -> bool:
        """Wait until a program listens on a port. Return False after `timeout` seconds. Raises as `upstream` does.

        The kernel sends no event for a listening socket (sock_diag(7) only answers queries), so this polls at growing
        intervals.
        """
        deadline, pause = time.monotonic() + timeout, FIRST_LOOK_SECONDS
        while True:
            await self.upstream(port)
            if await self.listens(port):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 1.5, LAST_LOOK_SECONDS)

    def _look_for(self, port: int) -> tuple[PortPlace, bool]:
        """Return the place of a port, and whether a program listens there in the box. Raises PermissionDenied."""
        in_box, outside = self._on(port)
        found = in_box or outside
        if any(listener.uid in self._own_uids for listener in found):
            raise _own_port_error(port)
        return PortPlace(_authority(found, port), in_box=self.has_box and (bool(in_box) or not outside)), bool(in_box)

    def _keep(self, port: int, place: PortPlace) -> None:
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[port] = place, time.monotonic() + KNOWN_SECONDS

    def _in_box(self) -> list[Listener]:
        """Return the listeners in the box's network; none where it has none of its own."""
        table = self._box() if self._box else None
        return list(listeners(table)) if table else []

    def _outside(self) -> list[Listener]:
        """Return the listeners in the container's network, without those of published ports."""
        return [listener for listener in listeners(self._proc) if listener.port not in self._published]

    def _on(self, port: int) -> tuple[list[Listener], list[Listener]]:
        """Return who listens on a port in the box's network, or else in the container's."""
        in_box = [listener for listener in self._in_box() if listener.port == port]
        return in_box, [] if in_box else [listener for listener in self._outside() if listener.port == port]

    def _open(self, found: list[Listener]) -> list[Listener]:
        own = self._own_ports | self._editors | {listener.port for listener in found if listener.uid in self._own_uids}
        return [listener for listener in found if listener.port not in own and listener.address != ENGINES_RESOLVER]


def _authority(found: list[Listener], port: int) -> str:
    """Return the loopback address of a listener, else any, else IPv4's."""
    reachable = [listener.authority for listener in found if listener.address.is_unspecified or listener.address.is_loopback]
    return next(iter(reachable or [listener.authority for listener in found]), f"127.0.0.1:{port}")


def _own_port_error(port: int) -> PermissionDenied:
    return PermissionDenied(f"port {port} belongs to the sandbox itself", port=port)
