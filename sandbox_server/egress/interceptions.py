"""Connections whose requests are handled one by one: TLS that is opened on purpose, and clear text where a rule asks about requests.

TLS is opened to hosts that a secret is bound to, or whose rules compare requests.
"""

import asyncio
import socket
import ssl
from typing import Protocol

from sandbox_server.drivers.egress.first_bytes import FirstBytes
from sandbox_server.drivers.egress.policy import AppProtocol, Destination, EgressDecision, HttpRequest
from sandbox_server.drivers.egress.protected_addresses import Address
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.egress.approvals import ReadBody
from sandbox_server.egress.clear_stream import ByteStream, ClearStream
from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.open_flow import OpenFlow, RelayedFlow, reason_of
from sandbox_server.egress.refusals import FlowRefused
from sandbox_server.egress.tls_stream import TlsStream

MAX_INTERCEPTED = 512
"""Connections that may be opened at once: each has two states of TLS, some 100 KB."""


class FlowSteps(Protocol):
    """What happens to every flow, intercepted or not."""

    async def decide(
        self, destination: Destination, request: HttpRequest | None, owner: SocketOwner | None, read_body: ReadBody | None = None
    ) -> tuple[EgressDecision, str]:
        """Decide, and ask if the rule asks; returns the decision and the rule that asked. Raises FlowRefused.

        `read_body` reads a body whole, which a person is asked about.
        """

    async def connect(self, destination: Destination, decision: EgressDecision) -> tuple[socket.socket, Address]:
        """Connect to the destination. Raises FlowRefused."""

    def new_flow(
        self, place: tuple[Destination, Address], decision: EgressDecision, relayed: "RelayedFlow", owner: SocketOwner | None
    ) -> "OpenFlow":
        """Return a flow with an identity of its own."""

    def begin(self, flow: "OpenFlow") -> None:
        """List a flow, and tell of it. Raises FlowRefused if it is denied by now."""

    def finish(self, flow: "OpenFlow", reason: str) -> None:
        """Take a flow from the list, and tell of its end."""

    def tell(self, destination: Destination, refused: FlowRefused, owner: SocketOwner | None, request: HttpRequest | None) -> None:
        """Tell of a refusal."""

    def forget(self, first: FirstBytes) -> None:
        """Count what a client said first as decided."""


class Interceptions:
    """Serves them, within a limit."""

    def __init__(self, broker: CredentialBroker, steps: FlowSteps) -> None:
        self._broker = broker
        self._steps = steps
        self._open = 0

    def opens(self, destination: Destination, decision: EgressDecision) -> bool:
        """Whether a connection is opened, which the policy decides on as it says."""
        return self._broker.opens(destination, inspects=decision.inspect)

    async def serve(self, client: socket.socket, destination: Destination, first: FirstBytes, owner: SocketOwner | None) -> None:
        """Serve a connection to its end. Raises FlowRefused before TLS is opened, and OSError."""
        if first.problem:
            raise FlowRefused(f"{destination}: {first.problem}", "mismatch")
        if destination.protocol is AppProtocol.TLS and (not first.hello or first.hello.server_name is None):
            raise FlowRefused(f"{destination}: TLS names no server", "mismatch")
        if self._open >= MAX_INTERCEPTED:
            raise FlowRefused(f"{destination}: too many connections are opened at once", "limit")
        self._open += 1
        try:
            await self._serve(client, destination, first, owner)
        finally:
            self._open -= 1

    async def _serve(self, client: socket.socket, destination: Destination, first: FirstBytes, owner: SocketOwner | None) -> None:
        from sandbox_server.egress.intercepted_flow import InterceptedFlow  # and h11, which most sandboxes never need

        gate = _Gate(self._steps, destination, owner)
        heard = bytes(first.received)
        self._steps.forget(first)
        stream: ByteStream
        if destination.protocol is AppProtocol.HTTP:
            stream = ClearStream(client, heard)
        else:
            tls = TlsStream(client, self._broker.authority().context(destination.name), serves=True, heard=heard)
            try:
                await tls.handshake()
            except ssl.SSLError as error:
                why = f"the program does not trust the sandbox's authority ({error.reason})"
                gate.refuse(FlowRefused(f"{destination}: {why}", "certificate"))
                return
            stream = tls
        gate.relayed = InterceptedFlow(stream, destination, self._broker, gate, owner)
        reason = ""
        try:
            reason = await gate.relayed.serve()
        except asyncio.CancelledError as cancelled:
            gate.relayed.cut(reason := reason_of(cancelled))
            raise
        finally:
            gate.finish(reason)


class _Gate:
    """Judges each request of one connection, and lists the connection from its first one on."""

    def __init__(self, steps: FlowSteps, destination: Destination, owner: SocketOwner | None) -> None:
        self._steps = steps
        self._destination = destination
        self._owner = owner
        self._decision: EgressDecision | None = None
        self._approved = ""
        self._request: HttpRequest | None = None
        self._flow: OpenFlow | None = None
        self.relayed: RelayedFlow | None = None

    async def admit(self, request: HttpRequest, read_body: ReadBody) -> None:
        """Judge a request. Raises FlowRefused."""
        decision, approved = await self._steps.decide(self._destination, request, self._owner, read_body)
        if self._decision and decision.upstream != self._decision.upstream:
            raise FlowRefused(f"{self._destination}: requests of one connection go by different ways", decision.rule)
        self._decision, self._approved, self._request = decision, approved, request
        if self._flow:
            self._flow.decision, self._flow.approved, self._flow.request = decision, approved, request

    async def connect(self) -> socket.socket:
        """Connect to the server. Raises FlowRefused."""
        assert self._decision
        assert self.relayed
        server, address = await self._steps.connect(self._destination, self._decision)
        try:
            if self._flow:
                self._flow.address = address
            else:
                self._list(address, self.relayed)
        except FlowRefused:
            server.close()
            raise
        return server

    def refuse(self, refused: FlowRefused) -> None:
        """Tell of a refusal."""
        self._steps.tell(self._destination, refused, self._owner, self._request)

    def finish(self, reason: str) -> None:
        """Take the connection from the list, if it got there."""
        if self._flow:
            self._steps.finish(self._flow, reason)

    def _list(self, address: Address, relayed: "RelayedFlow") -> None:
        assert self._decision
        flow = self._steps.new_flow((self._destination, address), self._decision, relayed, self._owner)
        flow.approved, flow.request = self._approved, self._request
        self._steps.begin(flow)
        self._flow = flow
