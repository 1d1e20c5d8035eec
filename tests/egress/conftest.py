"""The egress process without a namespace: its listener is on loopback, and each client says where it was going."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

import pytest

from sandbox_server.drivers.egress.name_table import NameTable
from sandbox_server.drivers.egress.policy_document import read_policy
from sandbox_server.drivers.egress.protected_addresses import Address, parse_address
from sandbox_server.egress import resolver
from sandbox_server.egress.app import EgressServer
from sandbox_server.egress.current_policy import CurrentPolicy
from sandbox_server.egress.resolver import UnresolvedName
from tests.egress.heard_events import HeardEvents

if TYPE_CHECKING:
    from tests.secret_servers import SecretLab

OUTSIDE = "127.0.9.1"
"""Where servers are. Policies name it, because it is protected."""
SECONDS = 20.0


class EgressLab:
    """A server on loopback, programs that connect to it, and servers outside."""

    def __init__(self) -> None:
        self.names = NameTable()
        self.policy = CurrentPolicy()
        self.places: dict[int, tuple[Address, int]] = {}
        self.hosts: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.server = EgressServer(self.policy, self.names, lambda sock: self.places[sock.getpeername()[1]])
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.events = self.server.events.follow()
        self.heard_events = HeardEvents(self.events.__enter__())
        self._servers: list[asyncio.Server] = []
        self._lock = threading.Lock()
        self.heard: dict[int, bytes] = {}

    def resolve(self, name: str) -> tuple[Address, ...]:
        """Stand in for the machine's resolver."""
        with self._lock:
            self.asked.append(name)
        if name not in self.hosts:
            raise UnresolvedName(f"{name} has no address")
        return tuple(parse_address(address) for address in self.hosts[name])

    def rules(self, *rules: dict[str, Any], outside: bool = True, **fields: Any) -> None:
        """Put a policy in force, which names the servers outside unless told otherwise."""
        named = [{"action": "allow", "cidrs": ["127.0.9.0/24"], "protocols": ["http", "tls", "tcp"], "name": "outside"}] if outside else []
        self.policy.policy = read_policy({"rules": [*rules, *named], **fields})

    def allow(self, *hosts: str, **fields: Any) -> dict[str, Any]:
        """A rule that allows hosts, which are outside."""
        self.hosts |= {host: [OUTSIDE] for host in hosts}
        return {"action": "allow", "hosts": list(hosts), **fields}

    async def serve(self, port: int = 0, greeting: bytes = b"", address: str = OUTSIDE, answer: bytes = b"hello") -> int:
        """A server outside, which greets, keeps what it hears and answers each time; returns its port."""

        async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            here = writer.get_extra_info("sockname")[1]
            writer.write(greeting)
            while chunk := await reader.read(65536):
                self.heard[here] = self.heard.get(here, b"") + chunk
                writer.write(answer)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(attend, address, port)
        self._servers.append(server)
        found: int = server.sockets[0].getsockname()[1]
        return found

    async def connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """What a program has that connected to a name or an address."""
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        try:
            place: Address = parse_address(host)
        except ValueError:
            place = IPv4Address(self.names.address_of(host))
        self.places[sock.getsockname()[1]] = place, port
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, self.listener.getsockname())
        return await asyncio.open_connection(sock=sock)

    async def said(self, host: str, port: int, sent: bytes, count: int = -1) -> bytes:
        """What comes back for some bytes; a reset is an error."""
        async with asyncio.timeout(SECONDS):
            reader, writer = await self.connect(host, port)
            try:
                writer.write(sent)
                return await (reader.read(-1) if count < 0 else reader.readexactly(count))
            finally:
                writer.close()

    async def event(self, kind: str) -> dict[str, object]:
        """The next event of a kind."""
        async with asyncio.timeout(SECONDS):
            while (event := await self.heard_events.get())["event"] != kind:
                pass
        return event

    async def close(self) -> None:
        """End the server and those outside."""
        self.events.__exit__(None, None, None)
        await self.server.close()
        self.listener.close()
        for server in self._servers:
            server.close()


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Run on the loop of the standard library, as this process does."""
    return "asyncio", {"use_uvloop": False}


@pytest.fixture
async def lab(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EgressLab]:
    """A running egress server that denies everything."""
    made = EgressLab()
    monkeypatch.setattr(resolver, "_addresses", made.resolve)
    made.server.start([made.listener])
    yield made
    await made.close()


@pytest.fixture
async def opened(lab: EgressLab) -> AsyncIterator["SecretLab"]:
    """An egress server that allows everything, and a server of `api.example` outside."""
    from tests.secret_servers import HOST, SecretLab, SecretServer

    server = SecretServer()
    outside = await server.start()
    lab.rules(lab.allow(HOST, "other.example", protocols=["tls", "http"]))
    yield SecretLab(lab, server, outside)
    server.close()
