"""The forward proxy of the browser and of new processes."""

from sandbox_server.drivers.proxy.haproxy import Haproxy
from sandbox_server.drivers.proxy.proxy import EgressProxy
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.proxy import ForwardProxy, ProxyPac
from sandbox_server.parts.shared import Part, Shared


def part(shared: Shared) -> Part:
    """What the proxy does, and the same for browsers elsewhere."""
    settings, paths, left_out = shared.settings, shared.settings.paths, shared.settings.components.left_out
    proxy = EgressProxy(
        settings.proxy,
        JsonFile(paths.proxy_plan),
        Haproxy(paths.proxy),
        shared.processes,
        None if "browser" in left_out else shared.owner,
        enabled="proxy" not in left_out,
    )
    shared.way = proxy.way
    return Part((ForwardProxy(proxy, ComponentSockets({"gateway": paths.socket("gateway")})), ProxyPac(proxy)), (proxy,))
