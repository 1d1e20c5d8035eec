"""The box's network namespace, as the daemon keeps it for every box it makes, and its connection to the egress process.

The egress process serves the listeners of the namespace. Both hold them all; see `namespace_handover`. Where both have
ended, the listeners are made anew, which fails if a program in the box has taken one of their ports meanwhile: then
there is a new namespace, and the box is made anew in it.
"""

import os
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from sandbox_server.drivers.egress import namespace_handover, network_namespace
from sandbox_server.drivers.egress.network_namespace import EgressNamespace, NetworkNamespaceError
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError
from sandbox_server.drivers.ipc.poller import Poller
from sandbox_server.drivers.ipc.unix_listener import peer_uid

TAKE_OVER_SECONDS = 3.0
"""How long the ports of listeners whose holders have ended may be in use before the namespace is given up."""
MAX_CLIENTS = 8


class BoxNetwork:
    """Keeps a namespace. `ports` of its loopback lead to services of the container."""

    def __init__(self, ports: Sequence[int] = ()) -> None:
        self.namespace = -1
        """The descriptor that a box joins."""
        self.problem = ""
        """Why nothing leaves the namespace; empty where the egress process decides."""
        self._ports = tuple(ports)
        self._held: EgressNamespace | None = None
        self._missing_since: float | None = None
        self._clients: set[socket.socket] = set()
        self._on_renewal: Callable[[], None] = lambda: None

    def create(self) -> None:
        """Make a namespace. The caller is root of the user namespace that is to own it, and has one thread."""
        try:
            made = network_namespace.create(self._ports)
            self.problem = ""
        except NetworkNamespaceError as error:
            self.problem = f"the kernel does not make the network namespace of the egress policy: {error}"
            _log(f"{self.problem}; nothing leaves the box")
            made = network_namespace.create_closed(self._ports)
        self._hold(made)

    def take_over(self, namespace: int) -> None:
        """Keep the namespace of a box of an earlier daemon; the listeners come from the egress process."""
        self.namespace = os.dup(namespace)

    def hold(self, made: EgressNamespace) -> None:
        """Keep listeners that the caller has made."""
        self._hold(made)

    def status(self) -> Mapping[str, object]:
        """What is known of it, for the status of the box."""
        return {"problem": self.problem, "served": bool(self._clients)}

    def serve(self, listener: socket.socket, uids: frozenset[int], poller: Poller, on_renewal: Callable[[], None]) -> None:
        """Serve the egress process, which runs as one of `uids`. `on_renewal` is called when boxes must join another namespace."""
        listener.setblocking(False)
        self._on_renewal = on_renewal
        poller.watch(listener.fileno(), partial(self._accept, listener, uids, poller))

    def _hold(self, made: EgressNamespace) -> None:
        former, kept = self._held, self.namespace
        self._held, self.namespace = made, os.dup(made.namespace)
        self._missing_since = None
        if former:
            former.close()
        if kept >= 0:
            os.close(kept)

    def _accept(self, listener: socket.socket, uids: frozenset[int], poller: Poller) -> None:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        client.setblocking(False)
        if peer_uid(client) not in uids or len(self._clients) >= MAX_CLIENTS:
            client.close()
            return
        self._clients.add(client)
        poller.watch(client.fileno(), partial(self._on_packet, client, poller))

    def _on_packet(self, client: socket.socket, poller: Poller) -> None:
        try:
            message, held = namespace_handover.receive(client)
            if message is not None:
                self._answer(client, held)
                return
        except BlockingIOError:
            return
        except (OSError, MalformedMessageError) as error:
            _log(f"dropped the egress process: {error}")
        self._clients.discard(client)
        poller.unwatch(client.fileno())
        client.close()

    def _answer(self, client: socket.socket, held: EgressNamespace | None) -> None:
        """Keep what the egress process holds if it is of the box's namespace; else give it that, as soon as there are listeners."""
        if held and self._is_ours(held):
            if self._held:
                held.close()
            else:
                self._hold(held)
            descriptor_passing.send(client, {"kept": True})
            return
        if held:
            held.close()
        if reason := self._make_listeners():
            descriptor_passing.send(client, {"error": reason})
        else:
            namespace_handover.send(client, self._held, self._ports)

    def _is_ours(self, held: EgressNamespace) -> bool:
        return os.path.samestat(os.fstat(held.namespace), os.fstat(self.namespace))

    def _make_listeners(self) -> str:
        """Have listeners; says why there are none yet."""
        if self._held:
            return ""
        try:
            self._hold(network_namespace.take_over(self.namespace, self._ports))
        except NetworkNamespaceError as error:
            if not self._overdue():
                return str(error)
            _log(f"the listeners of the egress process cannot be made anew, so the box is: {error}")
            self.create()
            self._on_renewal()
        return ""

    def _overdue(self) -> bool:
        now = time.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        return now - self._missing_since > TAKE_OVER_SECONDS


def _log(message: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"box: {message}\n")
