"""One connection of the box: heard, decided, dialled by name, relayed or refused."""

import asyncio
import itertools
import socket
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address

from sandbox_server.drivers.egress.first_bytes import FirstBytes, host_mismatch
from sandbox_server.drivers.egress.http_head import RequestHead
from sandbox_server.drivers.egress.name_table import NameTable
from sandbox_server.drivers.egress.policy import AppProtocol, Destination, EgressAction, EgressDecision, HttpRequest
from sandbox_server.drivers.egress.protected_addresses import Address
from sandbox_server.drivers.egress.socket_owner import SocketOwner, local_address
from sandbox_server.drivers.egress.synthetic_network import NETWORK
from sandbox_server.egress.approvals import Approvals, AskedRequest, ReadBody
from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.current_policy import CurrentPolicy
from sandbox_server.egress.dialer import Dialer, DialFailed, DialRefused
from sandbox_server.egress.flow_events import FlowEvents
from sandbox_server.egress.http_screen import HttpScreen
from sandbox_server.egress.interceptions import Interceptions
from sandbox_server.egress.open_flow import OpenFlow, RelayedFlow, reason_of, refusal_of, request_of, told_of, undialled
from sandbox_server.egress.pipe_pool import PipePool
from sandbox_server.egress.refusals import FlowRefused, refuse, reset
from sandbox_server.egress.socket_reads import read_until
from sandbox_server.egress.spliced_flow import FlowCut, SplicedFlow

SPEAKS_FIRST_SECONDS = 0.1
"""How long a client may say nothing before its server is given the word, where the policy allows that."""
SILENT_SECONDS = 30.0
"""How long a client may say nothing where it has to speak first."""
DENIED_SECONDS = 1.0
"""How long a client may say nothing where nothing that it could say is allowed."""
TOLD_SECONDS = 0.05
"""How long a refusal waits while somebody follows the events, who can then look up the program before it ends."""
HELLO_SECONDS = 10.0
"""How long the first message may take once it has begun."""
MAX_HELD = 8 << 20
"""Limit in bytes of what all clients have said that is not decided yet, beyond what each may say in any case."""
MAX_ASKED = 8
"""Rules that ask about one connection or request, one after the other."""
MAX_SMALL = 4 << 10
"""What each may say in any case: a usual ClientHello, or a short request, so that no client keeps all others from speaking."""

DestinationOf = Callable[[socket.socket], tuple[Address, int]]
OwnerOf = Callable[[socket.socket, tuple[Address, int]], SocketOwner | None]
"""Gives the owner of a connection by its accepted socket and its destination."""


class EgressFlows:
    """Serves connections, and knows those that are relayed."""

    def __init__(
        self,
        names: NameTable,
        policy: CurrentPolicy,
        dialer: Dialer,
        events: FlowEvents,
        approvals: Approvals,
        destination_of: DestinationOf,
        owner_of: OwnerOf = lambda _, __: None,
        broker: CredentialBroker | None = None,
    ) -> None:
        self._interceptions = Interceptions(broker or CredentialBroker(events), self)
        self._names = names
        self._policy = policy
        self._dialer = dialer
        self._events = events
        self._approvals = approvals
        self._destination_of = destination_of
        self._owner_of = owner_of
        self._pipes = PipePool()
        self._identities = itertools.count(1)
        self._held = 0
        self.open: dict[int, OpenFlow] = {}

    async def serve(self, client: socket.socket) -> None:
        """Serve a redirected connection to its end, and close it."""
        try:
            place = self._destination_of(client)
        except OSError:
            return reset(client)
        owner = self._marked_owner(client, place)
        return await self._serve(client, Destination(place[1], address=place[0], uid=_uid(owner)), owner)

    async def serve_asked(self, client: socket.socket, destination: Destination, said: bytes = b"") -> None:
        """Serve a connection whose client has named its destination and said what the server is to hear first."""
        owner = self._asker(client)
        await self._serve(client, replace(destination, uid=_uid(owner)), owner, said)

    def refuse_asked(self, client: socket.socket, destination: Destination) -> FlowRefused | None:
        """Tell of a destination to which nothing is allowed that a client could say; None if something is."""
        owner = self._asker(client)
        destination = replace(destination, uid=_uid(owner))
        decisions = [self._policy.decide(replace(destination, protocol=protocol)) for protocol in AppProtocol]
        if any(decision.action is not EgressAction.DENY or decision.inspect for decision in decisions):
            return None
        rule = self._policy.decide(destination).rule
        refused = FlowRefused(f"{destination} is not allowed ({rule})", rule)
        self.tell(destination, refused, owner, None)
        return refused

    async def refuse_resolved(self, client: socket.socket, destination: Destination) -> FlowRefused | None:
        """Tell of a destination whose addresses are all refused, whatever its client says; None if one is not.

        Nothing is resolved that an approval has to allow first, or that a proxy resolves.
        """
        spoken = [replace(destination, protocol=protocol) for protocol in AppProtocol]
        decisions = [self._policy.decide(each) for each in spoken]
        if self._dialer.proxies(destination) or any(each.upstream or each.action is EgressAction.ASK for each in decisions):
            return None

        def refusal(address: Address) -> EgressDecision | None:
            refusals = [self._policy.address_refusal(address, each) for each in spoken]
            return refusals[0] if all(refusals) else None

        try:
            await self._dialer.check(destination, refusal)
        except (DialRefused, DialFailed) as error:
            refused = undialled(destination, error)
            self.tell(destination, refused, self._asker(client), None)
            return refused
        return None

    async def _serve(self, client: socket.socket, destination: Destination, owner: SocketOwner | None, said: bytes = b"") -> None:
        first = FirstBytes()
        if owner and owner.inode and self._events.followed:  # its program may end before anything else is told of it
            self._events.publish("accepted", uid=owner.uid, inode=owner.inode)
        try:
            destination = self._named(destination)
            if destination.name:
                with self._names.open_flow(destination.name):
                    await self._relay(client, destination, first, owner, said)
            else:
                await self._relay(client, destination, first, owner, said)
        except FlowRefused as refused:
            told = replace(destination, protocol=first.protocol or destination.protocol)
            self.tell(told, refused, owner, request_of(first.head))
            if self._events.followed:
                await asyncio.sleep(TOLD_SECONDS)
            await refuse(client, first.protocol, str(refused), refused.status)
        except OSError:
            reset(client)
        finally:
            self.forget(first)
            client.close()

    def judge_again(self) -> int:
        """Cut the flows that the policy denies now; returns how many."""
        denied = [flow for flow in self.open.values() if self._denied_now(flow)]
        for flow in denied:
            flow.spliced.cut("the policy changed")
        return len(denied)

    def cut_idle(self, before: float) -> None:
        """Cut the flows in which nothing has moved since `before`, by the loop's clock."""
        for flow in [flow for flow in self.open.values() if flow.spliced.moved_at < before]:
            flow.spliced.cut("idle")

    def close(self) -> None:
        """Cut every flow."""
        for flow in list(self.open.values()):
            flow.spliced.cut("the egress process ends")
        self._pipes.close()

    def _denied_now(self, flow: OpenFlow) -> bool:
        decision = self._policy.decide(flow.destination, flow.request)
        proxied = decision.upstream or self._dialer.proxies(flow.destination)
        refused = None if proxied else self._policy.address_refusal(flow.address, flow.destination)
        return not flow.allowed_by(decision) or refused is not None or decision.upstream != flow.decision.upstream

    def _named(self, destination: Destination) -> Destination:
        """Put the name in the place of a synthetic address. Raises FlowRefused."""
        address = destination.address
        if not isinstance(address, IPv4Address) or address not in NETWORK:
            return destination
        name = self._names.name_of(address)
        if name is None:
            raise FlowRefused(f"{address} belongs to no name; resolve the name again", "unknown address")
        return replace(destination, name=name, address=None)

    def tell(self, destination: Destination, refused: FlowRefused, owner: SocketOwner | None, request: HttpRequest | None) -> None:
        """Tell of a refusal."""
        self._events.publish("refused", **told_of(destination, owner, request), rule=refused.rule, reason=str(refused))

    def _asker(self, client: socket.socket) -> SocketOwner | None:
        """The owner of a connection to a listener that clients connect to by its own address; None for the server's own."""
        if client.family == socket.AF_UNIX:
            return None
        try:
            return self._marked_owner(client, local_address(client))
        except OSError:
            return None

    def _marked_owner(self, client: socket.socket, place: tuple[Address, int]) -> SocketOwner | None:
        return self._events.private.marked(self._owner_of(client, place))

    async def _relay(self, client: socket.socket, place: Destination, first: FirstBytes, owner: SocketOwner | None, said: bytes) -> None:
        if not await self._hear(client, place, first, said):
            return
        destination = self._judged(place, first)
        decision = self._policy.decide(destination)
        by_request = self._asks_by_request(destination) or self._interceptions.opens(destination, decision)
        if (decision.inspect or decision.action is not EgressAction.DENY) and by_request:
            await self._interceptions.serve(client, destination, first, owner)
            return
        request = request_of(first.head)
        decision, approved = await self.decide(destination, request, owner)
        server, address = await self.connect(destination, decision)
        with server:
            spliced = SplicedFlow(self._pipes, client, server)
            flow = self.new_flow((destination, address), decision, spliced, owner)
            flow.approved, flow.request = approved, request
            await self._carry(flow, spliced, first)

    def new_flow(
        self, place: tuple[Destination, Address], decision: EgressDecision, relayed: RelayedFlow, owner: SocketOwner | None
    ) -> OpenFlow:
        """Return a flow with an identity of its own."""
        return OpenFlow(next(self._identities), *place, decision, relayed, owner, begun=asyncio.get_running_loop().time())

    async def _hear(self, client: socket.socket, place: Destination, first: FirstBytes, said: bytes) -> bool:
        """Hear what the client says first, within a bound; False if it hangs up without a word."""
        loop = asyncio.get_running_loop()
        known, until = bool(said) and self._feed(first, said), loop.time() + (HELLO_SECONDS if said else self._patience(place))
        while not known:
            received = await read_until(client, until)
            if received is None:
                if first.received:
                    first.give_up()
                return True
            if not received:
                first.end()
                return bool(first.received)
            if not first.received:
                until = loop.time() + HELLO_SECONDS
            known = self._feed(first, received)
        return True

    def _feed(self, first: FirstBytes, received: bytes) -> bool:
        """Take more of what a client says first, within what all clients may say together. Raises FlowRefused."""
        if self._held + len(received) > MAX_HELD and len(first.received) + len(received) > MAX_SMALL:
            raise FlowRefused("too much is waiting for a decision", "limit")
        self._held += len(received)
        return first.feed(received)

    def forget(self, first: FirstBytes) -> None:
        """Count what a client said first as decided."""
        self._held -= len(first.received)
        first.received.clear()

    def _patience(self, place: Destination) -> float:
        decisions = {protocol: self._policy.decide(replace(place, protocol=protocol)) for protocol in AppProtocol}
        opened = self._interceptions.opens(replace(place, protocol=AppProtocol.TLS), decisions[AppProtocol.TLS])
        if decisions[AppProtocol.TCP].action is not EgressAction.DENY and not opened:
            return SPEAKS_FIRST_SECONDS
        return DENIED_SECONDS if all(decision.action is EgressAction.DENY for decision in decisions.values()) else SILENT_SECONDS

    def _judged(self, place: Destination, first: FirstBytes) -> Destination:
        """Complete a destination with what the client said, and hold that against the name. Raises FlowRefused."""
        destination = replace(place, protocol=first.protocol or AppProtocol.TCP)
        decision = self._policy.decide(destination, request_of(first.head))
        if destination.name and (decision.inspect or decision.action is not EgressAction.DENY):
            wrong = first.mismatch(destination.name, ech_allowed=self._policy.policy.ech is EgressAction.ALLOW)
            if wrong:
                raise FlowRefused(wrong, "mismatch")
        return destination

    async def decide(
        self, destination: Destination, request: HttpRequest | None, owner: SocketOwner | None, read_body: ReadBody | None = None
    ) -> tuple[EgressDecision, str]:
        """Decide, and ask if the rule asks; returns the decision and the rule that asked. Raises FlowRefused.

        What the policy says once somebody has answered counts: another rule that asks by then is asked about, too.
        """
        approved: list[str] = []
        while True:
            decision = self._policy.decide(destination, request)
            if decision.allowed or (decision.action is EgressAction.ASK and decision.rule in approved):
                return decision, approved[-1] if approved else ""
            if decision.action is not EgressAction.ASK or len(approved) >= MAX_ASKED:
                raise refusal_of(destination, request, decision)
            asked = None
            if decision.by_request and request:
                if read_body is None:
                    raise FlowRefused(f"{request} needs an approval: send it on a new connection ({decision.rule})", decision.rule)
                asked = AskedRequest(request, read_body)
            if not await self._approvals.ask(destination, decision.rule, told_of(destination, owner, request), asked):
                raise FlowRefused(f"{destination} needs an approval, and nobody gave it ({decision.rule})", decision.rule)
            approved.append(decision.rule)

    def _asks_by_request(self, destination: Destination) -> bool:
        """Whether requests in clear text may have to wait for an answer each."""
        return destination.protocol is AppProtocol.HTTP and self._policy.policy.may_ask_by_request(destination)

    async def connect(self, destination: Destination, decision: EgressDecision) -> tuple[socket.socket, Address]:
        """Connect to a destination. Raises FlowRefused."""
        try:
            if decision.upstream:
                return await self._dialer.connect_through(self._policy.policy.upstreams[decision.upstream], destination)
            return await self._dialer.connect(destination, lambda address: self._policy.address_refusal(address, destination))
        except (DialRefused, DialFailed) as error:
            raise undialled(destination, error) from None

    async def _carry(self, flow: OpenFlow, spliced: SplicedFlow, first: FirstBytes) -> None:
        """Relay until an end, if the policy still allows it now that the server is connected."""
        self.begin(flow)
        reason = ""
        try:
            self._start(flow, spliced, first)
            reason = await spliced.ended
        except FlowCut as cut:
            spliced.cut(reason := str(cut))
        except asyncio.CancelledError as cancelled:
            spliced.cut(reason := reason_of(cancelled))
            raise
        finally:
            self.finish(flow, reason)

    def begin(self, flow: OpenFlow) -> None:
        """List a flow, and tell of it. Raises FlowRefused if it is denied by now."""
        if self._denied_now(flow):
            raise FlowRefused(f"{flow.destination}: the policy changed", flow.decision.rule)
        self.open[flow.identity] = flow
        self._events.publish("open", **flow.describe())

    def finish(self, flow: OpenFlow, reason: str) -> None:
        """Take a flow from the list, and tell of its end."""
        del self.open[flow.identity]
        seconds = round(asyncio.get_running_loop().time() - flow.begun, 3)
        self._events.publish("close", **flow.describe(), seconds=seconds, reason=reason)

    def _start(self, flow: OpenFlow, spliced: SplicedFlow, first: FirstBytes) -> None:
        """Begin to relay: what the client said is sent on, and what it says later is screened where it has to be."""
        if not first.received:
            spliced.start(screen=lambda received: self._screen_late(flow, spliced, first, received))
        elif first.protocol is AppProtocol.HTTP:
            screen = self._http_screen(flow, spliced)
            passed, _ = screen.hear_client(bytes(first.received))
            spliced.start(passed, screen.hear_client, screen.hear_server if screen.upgrading else None)
        else:
            spliced.start(bytes(first.received))
        self.forget(first)

    def _screen_late(self, flow: OpenFlow, spliced: SplicedFlow, first: FirstBytes, received: bytes) -> tuple[bytes, bool]:
        """Hold what a client says late against the policy, as what it says at once. Raises FlowCut."""
        if not first.received:
            asyncio.get_running_loop().call_later(HELLO_SECONDS, _cut_unheard, flow, first)
        try:
            if not self._feed(first, received):
                return b"", True
            flow.destination = self._judged(replace(flow.destination, protocol=AppProtocol.TCP), first)
        except FlowRefused as refused:
            raise self._cut(flow, refused) from None
        said = bytes(first.received)
        self.forget(first)
        flow.request = request_of(first.head)
        if self._denied_now(flow):
            raise self._cut(flow, refusal_of(flow.destination, flow.request, self._policy.decide(flow.destination, flow.request)))
        opened = self._interceptions.opens(flow.destination, self._policy.decide(flow.destination))
        if opened or self._asks_by_request(flow.destination):
            raise self._cut(flow, FlowRefused(f"{flow.destination}: requests that are read one by one began too late", "late"))
        if first.protocol is not AppProtocol.HTTP:
            return said, False
        screen = self._http_screen(flow, spliced)
        passed, _ = screen.hear_client(said)
        if screen.upgrading:
            raise FlowCut("a WebSocket is asked for after the server has spoken")
        spliced.screen(screen.hear_client)
        return passed, True

    def _http_screen(self, flow: OpenFlow, spliced: SplicedFlow) -> HttpScreen:
        def judge(head: RequestHead) -> None:
            flow.request = request_of(head)
            decision = self._policy.decide(flow.destination, flow.request)
            wrong = host_mismatch(head, flow.destination.name)
            if wrong:
                raise self._cut(flow, FlowRefused(wrong, "mismatch"))
            if (decision.by_request and not decision.allowed) or not flow.allowed_by(decision):
                raise self._cut(flow, refusal_of(flow.destination, flow.request, decision))

        return HttpScreen(judge, spliced.say)

    def _cut(self, flow: OpenFlow, refused: FlowRefused) -> FlowCut:
        """Tell of a refusal in the midst of a flow."""
        self.tell(flow.destination, refused, flow.owner, flow.request)
        return FlowCut(str(refused))


def _uid(owner: SocketOwner | None) -> int | None:
    return owner.uid if owner else None


def _cut_unheard(flow: OpenFlow, first: FirstBytes) -> None:
    """Cut a flow whose client has begun to say something and not finished."""
    if first.protocol is None or first.unfinished:
        flow.spliced.cut("the first message did not come in time")
