"""The network policy in a container without a box: rules in its network namespace where boot may make them, else an explicit proxy.

A small process of root's keeps the listeners, so that no program takes their ports while the egress process starts anew.
"""

import os
import socket
import sys

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.box.box_network import BoxNetwork
from sandbox_server.drivers.box.isolation import EgressEnforcement
from sandbox_server.drivers.egress import container_rules, network_namespace
from sandbox_server.drivers.egress.network_namespace import EgressNamespace, NetworkNamespaceError
from sandbox_server.drivers.ipc.poller import Poller
from sandbox_server.drivers.ipc.unix_listener import listen
from sandbox_server.drivers.spawn.child_setup import Account
from sandbox_server.settings import Settings
from sandbox_server.timeouts import scaled

NAME = "egress-ports"
"""What `ps` shows of the process that keeps the listeners."""
WATCHDOG_SECONDS = scaled(10.0)


class EgressPorts:
    """What was made for the egress process before it starts."""

    def __init__(self, enforcement: EgressEnforcement, made: EgressNamespace | None = None) -> None:
        self.enforcement = enforcement
        self._made = made

    def keep(self, settings: Settings) -> int | None:
        """Start the process that keeps the listeners and hands them to each egress process; returns its pid."""
        if self._made is None:
            return None
        user = settings.users.egress if os.geteuid() == 0 else None
        account = Account.named(user) if user else Account.current()
        served = listen(settings.paths.egress_socket("box"), account)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                _keep(self._made, served, frozenset({0, account.uid}), parent)
            finally:
                os._exit(1)
        served.close()
        self._made.close()
        return pid


def make(settings: Settings) -> EgressPorts:
    """Make rules and listeners, or the explicit proxy's listener where a policy is given. The rights over the rules are given up."""
    if not settings.egress.enabled:
        return EgressPorts("off")
    if container_rules.may_make():
        users = settings.users
        try:
            made = container_rules.make(container_rules.exempt_users((0, users.control_uid, users.egress_uid)))
        except NetworkNamespaceError as error:
            _say(f"the network policy is not enforced: {error}")
        else:
            container_rules.give_up_rights()
            return EgressPorts("rules", made)
    if settings.egress.policy is None:
        return EgressPorts("off")
    _say(
        "the network policy is asked by programs that use the proxy of their environment, and not enforced: GET /v1/doctor says what would"
    )
    return EgressPorts("proxy", network_namespace.listen_as_proxy(settings.egress.proxy_port))


def _keep(made: EgressNamespace, served: socket.socket, uids: frozenset[int], parent: int) -> None:
    namespaces.name_process(NAME)
    namespaces.end_with(parent)
    network = BoxNetwork()
    network.hold(made)
    poller = Poller(WATCHDOG_SECONDS)
    network.serve(served, uids, poller, lambda: None)
    poller.run()


def _say(message: str) -> None:
    sys.stderr.write(f"boot: {message}\n")
