"""The ports of the agent's programs in this container, by its settings and what boot found."""

import os
from functools import partial

from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.egress.network_namespace import CONNECTIONS_PORT, DNS_PORT, PROXY_PORT
from sandbox_server.drivers.ports.listening_ports import Ports, box_table
from sandbox_server.drivers.proxy.configuration import DIRECT_PORT, MAPPED_PORT
from sandbox_server.settings import Settings


def has_own_network(settings: Settings, found: Isolation) -> bool:
    """Whether the box has a network of its own, which the egress policy guards."""
    return found.level == "box" and settings.egress.enabled


def agent_ports(settings: Settings, found: Isolation) -> Ports:
    """Return the ports that are not the sandbox's own, nor its users' if the container has such users."""
    users = settings.users
    own_users = {users.control_uid, users.desktop_uid} if os.geteuid() == users.control_uid else set()
    ports = {"jupyter": settings.code.jupyterlab_port, "code-server": settings.code.code_server_port}
    editors = [port for name, port in ports.items() if name not in settings.components.left_out]
    own_ports = {settings.gateway.port, settings.proxy.port, DIRECT_PORT, MAPPED_PORT}
    own_ports |= {"rules": {CONNECTIONS_PORT, DNS_PORT, PROXY_PORT}, "proxy": {settings.egress.proxy_port}}.get(found.egress, set())
    if not has_own_network(settings, found):
        return Ports(own_ports, own_users, editors=editors)
    own_ports |= {CONNECTIONS_PORT, DNS_PORT, PROXY_PORT}
    table = partial(box_table, settings.paths.box_gateway_pid)
    return Ports(own_ports, own_users, editors=editors, box=table, published=settings.box_ports.published)
