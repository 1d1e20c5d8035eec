"""HTTP for the agent by the server itself: it reaches what a program in the box would reach, by the same policy.

A loopback address is the box's, where a program of the agent's listens there. Everything else goes through the egress
process, which resolves the name, decides and connects. Without a network of the box's own there is no such transport.
"""

import ipaddress
import json
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import httpcore2
import httpx2

from sandbox_server.core.errors import Failure, PermissionDenied
from sandbox_server.drivers.egress.policy import PROTECTED_RULE, UNREACHABLE_RULE
from sandbox_server.settings.network import Allowed

MAX_CONNECTIONS = 100
MAX_KEPT = 20
KEPT_SECONDS = 5.0
MAX_ANSWER = 4096
"""Limit in bytes of what the egress process answers."""


class Place(Protocol):
    """Host and port, and whether they are in the box's network; `drivers.ports.PortPlace` is one."""

    @property
    def authority(self) -> str: ...
    @property
    def in_box(self) -> bool: ...


class AgentPlaces(Protocol):
    """Knows who listens on a loopback port; `drivers.ports.Ports` implements it."""

    async def place(self, port: int) -> Place: ...


class EgressRefused(httpcore2.ConnectError):
    """The policy refuses a connection; the message names the rule, which is `rule`."""

    def __init__(self, message: str, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class AgentNetwork:
    """The sockets that lead there: `fetches` of the egress process, `dial` of the gateway's part in the box's network."""

    fetches: str
    dial: str
    ports: AgentPlaces
    internal: Sequence[Allowed] | None = None
    """What may be reached that is not public; None: whatever the policy allows."""

    def transport(self, authorities: ssl.SSLContext) -> httpx2.AsyncHTTPTransport:
        """Return a transport that verifies servers by `authorities`."""
        return _Transport(_Backend(self), authorities)

    def place(self, host: str, port: int) -> dict[str, object]:
        """Return what the egress process is asked for."""
        entries = [each for each in self.internal or () if each.port in (None, port)]
        anywhere = self.internal is None or host.lower().rstrip(".") in {each.host for each in entries}
        networks = [str(each.network) for each in entries if each.network]
        return {"host": f"[{host}]" if ":" in host else host, "port": port, "internal": None if anywhere else networks}


class _Transport(httpx2.AsyncHTTPTransport):
    def __init__(self, backend: httpcore2.AsyncNetworkBackend, authorities: ssl.SSLContext) -> None:
        super().__init__(verify=authorities, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=authorities,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_KEPT,
            keepalive_expiry=KEPT_SECONDS,
            network_backend=backend,
        )


class _Backend(httpcore2.AnyIOBackend):
    def __init__(self, network: AgentNetwork) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect as a program in the box would. Raises EgressRefused and the errors of httpcore2."""
        if not is_loopback(host):
            return await self._connect_by_policy(host, port, timeout)
        try:
            place = await self._network.ports.place(port)
        except PermissionDenied as denied:
            raise EgressRefused(denied.message, PROTECTED_RULE) from None
        except Failure as failure:
            raise httpcore2.ConnectError(failure.message) from None
        address, _, number = place.authority.rpartition(":")
        if not place.in_box:
            return await super().connect_tcp(address.strip("[]"), int(number), timeout, local_address, socket_options)
        stream = await self.connect_unix_socket(self._network.dial, timeout)
        await stream.write(proxy_line(address.strip("[]"), int(number)), timeout)
        return stream

    async def _connect_by_policy(self, host: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        stream = await self.connect_unix_socket(self._network.fetches, timeout)
        try:
            await stream.write(f"{json.dumps(self._network.place(host, port))}\n".encode("ascii"), timeout)
            refusal = _refusal(await _line(stream, timeout), f"{host}:{port}")
        except BaseException:
            await stream.aclose()
            raise
        if refusal:
            await stream.aclose()
            raise refusal
        return stream


def is_loopback(host: str) -> bool:
    """Whether a host is this machine as its own programs name it."""
    name = host.lower().rstrip(".")
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def proxy_line(address: str, port: int) -> bytes:
    """Return the line of the PROXY protocol, version 1, that names a destination (HAProxy's proxy-protocol.txt, section 2.1)."""
    family = "TCP6" if ":" in address else "TCP4"
    return f"PROXY {family} {address} {address} 1 {port}\r\n".encode("ascii")


def _refusal(line: str, place: str) -> httpcore2.ConnectError | None:
    """Read what the egress process answers; None if it connects."""
    try:
        answer = json.loads(line)
        if answer == {}:
            return None
        reason, rule = str(answer["reason"]), str(answer["rule"])
    except (ValueError, TypeError, KeyError):
        return EgressRefused(f"{place} is no place to connect to", "malformed")
    return httpcore2.ConnectError(reason) if rule == UNREACHABLE_RULE else EgressRefused(reason, rule)


async def _line(stream: httpcore2.AsyncNetworkStream, timeout: float | None) -> str:
    received = b""
    while not received.endswith(b"\n") and len(received) < MAX_ANSWER:
        byte = await stream.read(1, timeout)
        if not byte:
            break
        received += byte
    return received.decode("utf-8", "replace").strip()
