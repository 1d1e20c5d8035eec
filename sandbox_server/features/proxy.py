"""The forward proxy of the browser and the shells: its upstream, its mappings of hosts to ports, and its exclusions."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field

from sandbox_server.core import Blob, InvalidArgument, Model, NotFound, Reply, ResourceExhausted, Slashes, operation
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.proxy.configuration import MAPPED_PORT
from sandbox_server.drivers.proxy.forward_proxy import ForwardProxy
from sandbox_server.drivers.proxy.pac import pac
from sandbox_server.drivers.proxy.routing_plan import OWN, ProxyPlan, covers
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.settings.proxy import RouteSettings, UpstreamSettings, pattern, route, upstream

MAX_ENTRIES = 500
REACH_SECONDS = 5.0

type RuleText = Annotated[str, Field(min_length=1, max_length=1000)]


class ProxyUpstream(Model):
    addr: str
    """Host and port."""
    username: str | None = None
    """User name at the upstream proxy."""
    password: str | None = None
    """Always null: the password is never returned."""


class ProxyUpstreamUpdateRequest(Model):
    server: Annotated[str, Field(min_length=1, max_length=16384)]
    """`host:port` or `user:password@host:port`, optionally with `http://` or `https://`."""
    auth_cmd: Annotated[str, Field(max_length=4096)] | None = None
    """Shell command that writes `user:password`, which replaces the credentials in `server`. The agent cannot see it run."""


class ProxyMappingRoute(Model):
    source: str
    target: str
    source_host: str
    """Host of the source, which may hold `*`."""
    source_path: str = "/"
    """Prefix of the paths."""
    internal_port: int
    """Loopback port for the tunnels that browsers open to the source."""


class ProxyMappingAddRequest(Model):
    source: RuleText
    """`[http://]host[:port][/path]`; `*` in the host matches anything."""
    target: RuleText
    """`[host:]port[/path]`; without a host, this machine."""


class MappingRef(Model):
    source: Annotated[str, Slashes()]


class ProxyBypassRequest(Model):
    pattern: RuleText
    """A domain (`*.example.com`, `.example.com`), an address or a network (`10.0.0.0/8`)."""


class DiagnoseRequest(Model):
    url: RuleText
    """The URL of the request to check."""


class ProxyDiagnoseResult(Model):
    url: str
    route: Literal["mapping", "upstream", "direct"]
    """The destination: a mapping's target, the upstream proxy, or the host itself."""
    matched_mapping: ProxyMappingRoute | None = None
    resolved_target: str | None = None
    """Host and port of the destination, of a mapping with its path."""
    target_reachable: bool = False
    """Whether the destination accepts connections now."""


class ProxyHealthCheck(Model):
    healthy: bool
    gost_alive: bool
    """Whether the proxy runs. The name is the contract's."""
    nginx_alive: bool
    """Whether the gateway runs."""
    config_consistent: bool
    """Whether the proxy runs with the current configuration."""
    inconsistencies: list[str] = Field(default_factory=list)


class ProxyOperations:
    """Changes the proxy while it runs. The browser is not restarted."""

    tag = "proxy"

    def __init__(self, proxy: ForwardProxy, gateway: ComponentSockets, ports: Ports | None = None) -> None:
        """`ports` are those of the box, if it has a network of its own: there a loopback address is the box's."""
        self._proxy = proxy
        self._gateway = gateway
        self._ports = ports

    @operation("GET /v1/proxy/upstream", scope="view")
    async def get_upstream(self) -> ProxyUpstream | None:
        """Return the upstream proxy; null if connections are direct."""
        return _shown(self._proxy.plan.upstream)

    @operation("PUT /v1/proxy/upstream", scope="admin")
    async def set_upstream(self, request: ProxyUpstreamUpdateRequest) -> ProxyUpstream:
        """Send everything through an upstream proxy from now on. The browser is never asked for its credentials."""
        try:
            found = upstream(request.server)
        except ValueError as error:
            raise InvalidArgument(f"server {error}", field="server") from None
        plan = await self._proxy.change(lambda plan: replace(plan, upstream=found, auth_command=request.auth_cmd or None))
        return _shown(plan.upstream) or ProxyUpstream(addr=found.address)

    @operation("DELETE /v1/proxy/upstream", scope="admin")
    async def remove_upstream(self) -> None:
        """Connect directly from now on."""
        await self._proxy.change(lambda plan: replace(plan, upstream=None, auth_command=None))

    @operation("GET /v1/proxy/mappings", scope="view")
    async def list_mappings(self) -> list[ProxyMappingRoute]:
        """List the hosts that are mapped to a port of the sandbox."""
        return [_mapping(each) for each in self._proxy.plan.routes]

    @operation("POST /v1/proxy/mappings", scope="admin")
    async def add_mapping(self, request: ProxyMappingAddRequest) -> ProxyMappingRoute:
        """Map a host to a port, in place of an older mapping of the same source.

        Requests over http are passed on with the requested host. Over https the target has to speak TLS itself.
        """
        try:
            found = route(request.source, request.target)
        except ValueError as error:
            raise InvalidArgument(str(error)) from None
        await self._proxy.change(lambda plan: replace(plan, routes=_check_limit((*_without(plan, found.source), found))))
        return _mapping(found)

    @operation("DELETE /v1/proxy/mappings/{source}", scope="admin")
    async def remove_mapping(self, request: MappingRef) -> None:
        """Remove the mapping of a host."""
        if all(each.source != request.source for each in self._proxy.plan.routes):
            raise NotFound(f"there is no mapping of {request.source!r}", source=request.source)
        await self._proxy.change(lambda plan: replace(plan, routes=tuple(_without(plan, request.source))))

    @operation("GET /v1/proxy/excludes", scope="view")
    async def list_excludes(self) -> list[str]:
        """List the hosts that bypass the upstream proxy."""
        return list(self._proxy.plan.excludes)

    @operation("POST /v1/proxy/excludes", scope="admin")
    async def add_exclude(self, request: ProxyBypassRequest) -> Reply[list[str]]:
        """Let some hosts bypass the upstream proxy. Returns all exclusions."""
        found = _pattern(request.pattern)
        plan = await self._proxy.change(lambda plan: replace(plan, excludes=_check_limit(tuple(dict.fromkeys((*plan.excludes, found))))))
        return Reply(list(plan.excludes))

    @operation("DELETE /v1/proxy/excludes", scope="admin", takes_body=True)
    async def remove_exclude(self, request: ProxyBypassRequest) -> Reply[list[str]]:
        """Send some hosts through the upstream proxy again. Returns the remaining exclusions."""
        found = _pattern(request.pattern)
        if found not in self._proxy.plan.excludes:
            raise NotFound(f"{request.pattern!r} is not excluded", pattern=request.pattern)
        plan = await self._proxy.change(lambda plan: replace(plan, excludes=tuple(each for each in plan.excludes if each != found)))
        return Reply(list(plan.excludes))

    @operation("GET /v1/proxy/diagnose", scope="admin")
    async def diagnose(self, request: DiagnoseRequest) -> ProxyDiagnoseResult:
        """Report where a request would go, and whether that destination answers.

        The server connects by itself, past the egress policy: programs may be refused what answers here.
        """
        url, host, port = _address(request.url)
        plan = self._proxy.plan
        if mapping := plan.mapped(url.scheme, host, port, url.path or "/"):
            reachable = await self._takes_connections(mapping.target_host, mapping.target_port)
            shown = _mapping(mapping)
            return ProxyDiagnoseResult(
                url=request.url, route="mapping", matched_mapping=shown, resolved_target=mapping.target, target_reachable=reachable
            )
        through = plan.upstream if plan.to_upstream(host) else None
        target = (through.host, through.port) if through else (host, port)
        return ProxyDiagnoseResult(
            url=request.url,
            route="upstream" if through else "direct",
            resolved_target=through.address if through else f"{host}:{port}",
            target_reachable=await self._takes_connections(*target),
        )

    async def _takes_connections(self, host: str, port: int) -> bool:
        if self._ports and covers(OWN, host):
            return await self._ports.listens(port)
        return await _takes_connections(host, port)

    @operation("GET /v1/proxy/health", scope="view", operation_id="health")
    async def health(self) -> ProxyHealthCheck:
        """Report whether the proxy runs with the current configuration."""
        alive, consistent = await self._proxy.state()
        gateway = set(self._gateway.states().values()) == {"ready"}
        problems = [] if consistent else ["the proxy's configuration is not the one that was asked for"]
        return ProxyHealthCheck(
            healthy=alive and consistent and gateway,
            gost_alive=alive,
            nginx_alive=gateway,
            config_consistent=consistent,
            inconsistencies=problems,
        )


class ProxyPac:
    """The proxy's rules for a browser elsewhere."""

    tag = "browser"

    def __init__(self, proxy: ForwardProxy) -> None:
        self._proxy = proxy

    @operation("GET /v1/browser/proxy.pac", scope="view", operation_id="get_proxy_pac", media_type="application/x-ns-proxy-autoconfig")
    async def proxy_pac(self) -> Blob:
        """Return the rules as a proxy auto-configuration (PAC) file."""
        return Blob(pac(self._proxy.plan, self._proxy.address).encode(), "application/x-ns-proxy-autoconfig")


def _shown(found: UpstreamSettings | None) -> ProxyUpstream | None:
    return ProxyUpstream(addr=found.address, username=found.username) if found else None


def _mapping(found: RouteSettings) -> ProxyMappingRoute:
    return ProxyMappingRoute(
        source=found.source, target=found.target, source_host=found.host, source_path=found.path, internal_port=MAPPED_PORT
    )


def _without(plan: ProxyPlan, source: str) -> list[RouteSettings]:
    return [each for each in plan.routes if each.source != source]


def _check_limit[T](entries: tuple[T, ...]) -> tuple[T, ...]:
    if len(entries) > MAX_ENTRIES:
        raise ResourceExhausted(f"at most {MAX_ENTRIES} entries are allowed", limit=MAX_ENTRIES)
    return entries


def _pattern(text: str) -> str:
    try:
        return pattern(text)
    except ValueError as error:
        raise InvalidArgument(str(error), field="pattern") from None


def _address(url: str) -> tuple[SplitResult, str, int]:
    with suppress(ValueError):
        found = urlsplit(url if "://" in url else f"http://{url}")
        if found.scheme in ("http", "https", "ws", "wss") and found.hostname:
            secure = found.scheme in ("https", "wss")
            return found._replace(scheme="https" if secure else "http"), found.hostname, found.port or (443 if secure else 80)
    raise InvalidArgument("url must be an http or https address", field="url")


async def _takes_connections(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(REACH_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, ValueError, TimeoutError):  # ValueError: it is no host
        return False
    writer.close()
    return True
