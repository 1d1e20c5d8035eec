"""The egress process: what holds the listeners of the namespace, and how they are served."""

import argparse
import asyncio
import gc
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.egress.dns_responder import DnsResponder
from sandbox_server.drivers.egress.name_table import NameTable
from sandbox_server.drivers.egress.network_namespace import EgressNamespace
from sandbox_server.drivers.egress.packet_log import MAX_MESSAGE, refused_packets
from sandbox_server.drivers.egress.protected_addresses import Address
from sandbox_server.drivers.egress.socket_owner import SocketOwner, client_of, local_address, owner
from sandbox_server.egress.acceptor import Acceptor
from sandbox_server.egress.approvals import Approvals
from sandbox_server.egress.control_socket import ControlSocket
from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.current_policy import CurrentPolicy
from sandbox_server.egress.daemon_link import DaemonLink
from sandbox_server.egress.default_upstream import DefaultUpstream
from sandbox_server.egress.dialer import Dialer
from sandbox_server.egress.dns_server import DnsServer
from sandbox_server.egress.egress_flow import DestinationOf, EgressFlows
from sandbox_server.egress.explicit_proxy import ExplicitProxy
from sandbox_server.egress.flow_events import FlowEvents
from sandbox_server.egress.forward import Forward
from sandbox_server.egress.original_destination import original_destination
from sandbox_server.egress.private_time import PrivateTime
from sandbox_server.egress.resolver import Resolver
from sandbox_server.egress.secret_operations import secret_operations
from sandbox_server.egress.server_fetches import MAX_FETCHES, ServerFetches, listen

MAX_FLOWS = 4096
MAX_DNS_CONNECTIONS = 64
MAX_FORWARDED = 512
IDLE_SECONDS = 7200.0
"""How long a flow may be silent."""
SWEEP_SECONDS = 60.0
PACKETS_RULE = "packets"
"""How events call the refusal of what is not TCP."""
_DESCRIPTORS_OF_FLOW = 6
_OTHER_DESCRIPTORS = 1024

type Until = Callable[[Callable[[], None]], None]


class EgressServer:
    """Everything in the process, without its command line."""

    def __init__(
        self,
        policy: CurrentPolicy,
        names: NameTable,
        destination_of: DestinationOf = original_destination,
        owners: socket.socket | None = None,
        default_upstream: DefaultUpstream | None = None,
        mark: int = 0,
        private: PrivateTime | None = None,
    ) -> None:
        self.policy = policy
        self.names = names
        self.private = private or PrivateTime()
        self.events = FlowEvents(self.private)
        self.approvals = Approvals(self.events)
        self._owners = owners
        self._resolver = Resolver()
        self._upstream = default_upstream or DefaultUpstream()
        self.broker = CredentialBroker(self.events)
        self.flows = EgressFlows(
            names,
            policy,
            Dialer(self._resolver, self._upstream.of, mark),
            self.events,
            self.approvals,
            destination_of,
            self._owner_of,
            self.broker,
        )
        self._dns = DnsServer(DnsResponder(names), self.events)
        self._connections = Acceptor(self.flows.serve, flow_limit(), lambda client: self._user_of(client, destination_of))
        self._explicit = ExplicitProxy(self.flows)
        self._proxies = Acceptor(self._explicit.serve, flow_limit(), lambda client: self._user_of(client, local_address))
        self._queries = Acceptor(self._dns.serve, MAX_DNS_CONNECTIONS, lambda client: self._user_of(client, destination_of))
        self._forwards: list[Acceptor] = []
        self._packets: list[socket.socket] = []
        self._expiry: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None

    def start(
        self, connections: Sequence[socket.socket], packets: Sequence[socket.socket] = (), queries: Sequence[socket.socket] = ()
    ) -> None:
        """Serve redirected connections, and DNS by UDP and TCP."""
        for listener in connections:
            self._connections.listen(listener)
        for listener in queries:
            self._queries.listen(listener)
        for sock in packets:
            sock.setblocking(False)
            self._packets.append(sock)
            asyncio.get_running_loop().add_reader(sock, self._dns.answer_packets, sock)
        self.policy.on_change = self._take_policy
        self.private.on_change = self._mark_private
        self._take_policy()
        self._sweep_idle()

    def follow_log(self, log: socket.socket) -> None:
        """Tell of packets that the namespace refuses."""
        log.setblocking(False)
        self._packets.append(log)
        asyncio.get_running_loop().add_reader(log, self._tell_of_packets, log)

    def forward(self, listener: socket.socket, host: str, port: int) -> None:
        """Serve a listener by relaying to one address."""
        acceptor = Acceptor(Forward(host, port).serve, MAX_FORWARDED, lambda client: self._user_of(client, local_address))
        acceptor.listen(listener)
        self._forwards.append(acceptor)

    def serve_fetches(self, listener: socket.socket) -> None:
        """Serve what the server itself connects to for the agent."""
        acceptor = Acceptor(ServerFetches(self.flows).serve, MAX_FETCHES)
        acceptor.listen(listener)
        self._forwards.append(acceptor)

    def proxy(self, listener: socket.socket, *, refuses_at_once: bool = True) -> None:
        """Serve clients that ask for their destination, by the same policy and within the same limit.

        A tunnel in which nothing is allowed is refused at once; else what it carries is, as on a redirected connection.
        """
        self._explicit.refuses_at_once = refuses_at_once
        self._proxies.listen(listener)

    def _owner_of(self, client: socket.socket, destination: tuple[Address, int]) -> SocketOwner | None:
        return owner(self._owners, client_of(client), destination) if self._owners else None

    def _user_of(self, client: socket.socket, destination_of: DestinationOf) -> int | None:
        """The user of a connection, as far as the kernel knows."""
        try:
            found = self._owner_of(client, destination_of(client))
        except OSError:
            return None
        return found.uid if found else None

    def status(self) -> dict[str, object]:
        """Counts that only the whole process knows."""
        return {
            "names": len(self.names),
            "connections": len(self._connections),
            "over_limit": self._connections.refused,
            **self.broker.describe(),
        }

    async def control(self, path: str) -> asyncio.Server:
        """Serve the control socket."""
        more = {"upstream": self._upstream.operation, "private": self.private.operation, **secret_operations(self.broker)}
        return await ControlSocket(self.policy, self.flows, self.events, self.approvals, self.status, more).listen(path)

    async def close(self) -> None:
        """Serve nothing more, and cut every flow."""
        for sock in self._packets:
            asyncio.get_running_loop().remove_reader(sock)
        for timer in (self._expiry, self._sweep):
            if timer:
                timer.cancel()
        for acceptor in (self._connections, self._proxies, self._queries, *self._forwards):
            await acceptor.close()
        self.flows.close()
        self._resolver.close()
        self.names.close()

    def _tell_of_packets(self, log: socket.socket) -> None:
        with suppress(OSError):  # nothing there, or some were lost
            sent_by_users = (packet for packet in refused_packets(log.recv(MAX_MESSAGE)) if packet.uid is not None)
            for packet in sent_by_users:  # and not by the kernel, which greets its neighbours
                reason = f"{packet.protocol} is not allowed"
                self.events.publish(
                    "refused",
                    destination=str(packet),
                    host=str(packet.address),
                    port=packet.port,
                    protocol=packet.protocol,
                    rule=PACKETS_RULE,
                    reason=reason,
                    uid=packet.uid,
                    inode=0,
                    request="",
                )

    def _take_policy(self) -> None:
        """Prepare for what the policy says now. Programs trust the authority before they connect to the first host that is opened."""
        if self.policy.policy.opens_tls:
            self.broker.authority()
        self._await_expiry()

    def _mark_private(self) -> None:
        """Keep to who is private from now on."""
        for flow in self.flows.open.values():
            flow.owner = self.private.marked(flow.owner)
        self.approvals.forget_private()

    def _await_expiry(self) -> None:
        """Judge the flows again when the next rule stops to hold."""
        if self._expiry:
            self._expiry.cancel()
        seconds = self.policy.seconds_to_change()
        self._expiry = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        self.flows.judge_again()
        self._await_expiry()

    def _sweep_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self.flows.cut_idle(loop.time() - IDLE_SECONDS)
        self._sweep = loop.call_later(SWEEP_SECONDS, self._sweep_idle)


def flow_limit() -> int:
    """Raise the limit of descriptors, and say how many connections it is enough for."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max(1, min(MAX_FLOWS, (hard - _OTHER_DESCRIPTORS) // _DESCRIPTORS_OF_FLOW))


async def run(options: argparse.Namespace, until: Until = lambda _: None) -> None:
    """Serve until SIGTERM, or until what `until` is given is called, from any thread."""
    owners = socket.socket(fileno=options.owners) if options.owners is not None else None
    upstream = DefaultUpstream(options.upstream)
    names = NameTable(options.names)
    policy, private = _policy(options.policy), PrivateTime(options.private)
    server = EgressServer(policy, names, owners=owners, default_upstream=upstream, mark=options.mark, private=private)
    if options.print_events:
        server.events.observe = _print
    server.start(*([socket.socket(fileno=fd) for fd in fds] for fds in (options.connections, options.packets, options.queries)))
    for fd, place in options.forward:
        host, _, port = place.rpartition(":")
        server.forward(socket.socket(fileno=int(fd)), host, int(port))
    if options.fetches:
        server.serve_fetches(listen(options.fetches))
    for fd in options.proxy:
        server.proxy(socket.socket(fileno=fd), refuses_at_once=not options.connections)
    for fd in options.log:
        server.follow_log(socket.socket(fileno=fd))
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    control = await server.control(options.control)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(stopped.set)

    until(stop)
    gc.freeze()
    await stopped.wait()
    control.close()
    await server.close()


def _policy(path: str) -> CurrentPolicy:
    """Read the policy, and say in the log if that fails."""
    found = CurrentPolicy(path)
    if found.problem:
        sys.stderr.write(f"egress: the policy cannot be read, so everything is denied: {found.problem}\n")
    return found


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser("sandbox_server egress", description="Relay what leaves the box, by the policy.")
    made.add_argument("--connections", type=int, action="append", default=[], help="descriptor of a listener for redirected connections")
    made.add_argument("--packets", type=int, action="append", default=[], help="descriptor of a UDP socket for DNS")
    made.add_argument("--queries", type=int, action="append", default=[], help="descriptor of a listener for DNS by TCP")
    made.add_argument("--forward", nargs=2, action="append", default=[], metavar=("FD", "HOST:PORT"), help="relay a listener to an address")
    made.add_argument("--proxy", type=int, action="append", default=[], help="descriptor of a listener for the explicit proxy")
    made.add_argument("--log", type=int, action="append", default=[], help="descriptor of the log of refused packets")
    made.add_argument("--owners", type=int, help="descriptor of a socket that knows the users of connections")
    made.add_argument("--mark", type=int, default=0, help="mark of the sockets of connections that leave, which needs CAP_NET_ADMIN")
    made.add_argument("--print-events", action="store_true", help="write each event to the standard output, a JSON object a line")
    made.add_argument("--daemon", help="Unix socket of the box daemon, which gives the descriptors instead")
    made.add_argument("--policy", required=True, help="file with the policy; without it everything is denied")
    made.add_argument("--names", required=True, help="file that keeps the synthetic addresses")
    made.add_argument("--upstream", help="file that keeps the proxy by which connections leave whose rule names none")
    made.add_argument("--private", help="file that keeps who is in private mode")
    made.add_argument("--fetches", help="Unix socket for what the server connects to for the agent")
    made.add_argument("--control", required=True, help="Unix socket to be controlled by")
    return made


def serve(arguments: Sequence[str]) -> None:
    """Run the process with command-line `arguments`."""
    namespaces.forbid_tracing()
    options = parser().parse_args(arguments)
    if not options.daemon:
        return asyncio.run(run(options))
    link = DaemonLink(options.daemon)
    namespace, ports = link.obtain()
    _take(options, namespace, ports)
    return asyncio.run(run(options, lambda stop: link.follow(namespace, stop)))


def _take(options: argparse.Namespace, given: EgressNamespace, ports: Sequence[int]) -> None:
    """Serve the listeners of a namespace. Each of `ports` leads to the same port of the container's loopback."""
    options.connections, options.packets, options.queries, options.log = given.connections, given.packets, given.queries, given.log
    options.proxy = given.proxies
    options.owners = next(iter(given.owners), None)
    of_each = len(given.forwarded) // len(ports) if ports else 0
    options.forward = [(fd, f"127.0.0.1:{ports[number // of_each]}") for number, fd in enumerate(given.forwarded)]


def _print(event: Mapping[str, object]) -> None:
    with suppress(OSError):
        os.write(1, json.dumps(event).encode() + b"\n")
