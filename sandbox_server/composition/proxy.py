"""The forward proxy of the browser and of new processes."""

from dataclasses import dataclass

from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.drivers.proxy.egress_upstream import EgressUpstreamClient
from sandbox_server.drivers.proxy.forward_proxy import ForwardProxy
from sandbox_server.drivers.proxy.haproxy import Haproxy
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.proxy import ProxyOperations, ProxyPac


@dataclass(frozen=True, slots=True)
class Forwarding:
    """The proxy, and its operations."""

    proxy: ForwardProxy
    part: ProductPart


def build_proxy(machine: MachineParts) -> Forwarding:
    """Make the proxy, which browsers elsewhere may follow by its PAC file."""
    settings, paths = machine.settings, machine.settings.paths
    proxy = ForwardProxy(
        settings.proxy,
        JsonFile(paths.proxy_plan),
        Haproxy(paths.proxy),
        machine.processes,
        machine.environment,
        machine.owner if machine.has_browser else None,
        enabled="proxy" not in settings.components.left_out,
        egress=EgressUpstreamClient(paths.egress_socket("control")) if machine.has_own_network else None,
    )
    gateway = ComponentSockets({"gateway": paths.socket("gateway")})
    features = (ProxyOperations(proxy, gateway, machine.ports if machine.has_own_network else None), ProxyPac(proxy))
    return Forwarding(proxy, ProductPart(features, (proxy,)))
