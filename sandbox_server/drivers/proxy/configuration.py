"""HAProxy's configuration for a plan (https://docs.haproxy.org/3.0/configuration.html).

Everything that comes from a caller was read by `proxy_settings`, which lets no letter through that would mean something here;
credentials are base64.
"""

import base64
from collections.abc import Iterator, Sequence

from sandbox_server.drivers.proxy.routing_plan import OWN, ProxyPlan, expression, is_network, ordered
from sandbox_server.settings.proxy import RouteSettings, UpstreamSettings

DIRECT_PORT = 18118
"""Where tinyproxy listens, on the loopback; as in sandbox_server/drivers/proxy/tinyproxy.conf."""
MAPPED_PORT = 28118
"""Where the requests within a tunnel to a mapped host arrive, on the loopback."""
ANSWERED = "http://sandbox-proxy.invalid/"
"""What the proxy answers itself: who can load it goes through the proxy, because no name ends like that (RFC 2606)."""
REFUSED = "The upstream proxy refuses the credentials that the sandbox has for it."

_HEAD = """\
global
    maxconn 2000
    nbthread 1
    hard-stop-after 1h
    mworker-max-reloads 5
defaults
    mode http
    timeout connect 15s
    timeout http-request 3s
    option http-ignore-probes
    timeout client 1h
    timeout server 1h
    timeout tunnel 24h
    option httpclose
    default-server init-addr libc,none
"""
_HOST = """\
    http-request set-var(txn.host) req.hdr(host),host_only,lower,rtrim(.)
    http-request set-var(txn.port) req.hdr(host),port_only
    http-request set-var(txn.port) url,field(-1,:) if METH_CONNECT
"""
_NEVER_ASKED = f"""\
    # A tinyproxy answers wrong credentials as a site would.
    acl refused status 407
    acl refused res.hdr(www-authenticate),lower -m str 'basic realm="tinyproxy"'
    http-response return status 502 content-type text/plain string "{REFUSED}" if refused
"""
_ITSELF = """\
    acl itself var(txn.host) -m str sandbox-proxy.invalid
    http-request return status 200 content-type text/plain string "You are going through the proxy." if itself !METH_CONNECT
    acl proxied url -m beg -i http://
    http-request return status 400 content-type text/plain string "This is a proxy." unless METH_CONNECT or proxied
"""
_DIRECT = f"""\
backend direct
    http-request del-header Proxy-Authorization
    server tinyproxy 127.0.0.1:{DIRECT_PORT}
"""


def configuration(plan: ProxyPlan, port: int) -> str:
    """What HAProxy is to be told; it listens on the loopback's `port`."""
    routes = ordered(plan.routes)
    parts = [_HEAD, *_frontend(plan, routes, port), _DIRECT]
    if routes:
        parts += _mapped(routes)
    if plan.upstream:
        parts += _upstream(plan.upstream)
    return "".join(parts)


def _frontend(plan: ProxyPlan, routes: Sequence[RouteSettings], port: int) -> Iterator[str]:
    yield f"frontend proxy\n    bind 127.0.0.1:{port}\n"
    yield _HOST
    yield _ITSELF
    for number, each in enumerate(routes):
        yield from _route_acls(number, each)
        if each.scheme != "https":
            yield f"    use_backend mapped_{number} if !METH_CONNECT host_{number} path_{number} {_port_acl(number, each)}\n"
        if _is_plain_inside(each):
            yield f"    use_backend inside if METH_CONNECT {{ var(txn.port) -m str {each.port or 80} }} host_{number}\n"
        if each.scheme != "http" and each.port != 80:
            yield f"    use_backend tunnel_{number} if METH_CONNECT host_{number} {_port_acl(number, each)}\n"
    if plan.upstream:
        yield from _host_acl("excluded", (*OWN, *plan.excludes))
        yield from _host_acl("wanted", plan.includes)
        yield "    use_backend direct if excluded\n"
        yield f"    use_backend upstream{' if wanted' if plan.includes else ''}\n"
    yield "    default_backend direct\n"


def _is_plain_inside(each: RouteSettings) -> bool:
    """Whether what comes through a tunnel is HTTP, as browsers open one for WebSockets; otherwise it is for the target to understand."""
    return each.scheme == "http" or (each.scheme is None and each.port in (None, 80))


def _route_acls(number: int, each: RouteSettings) -> Iterator[str]:
    yield from _host_acl(f"host_{number}", [each.host])
    yield f"    acl path_{number} path -m beg {each.path}\n"
    if each.port:
        yield f"    acl port_{number} var(txn.port) -m str {each.port}{' 0' if each.port == 80 else ''}\n"


def _port_acl(number: int, each: RouteSettings) -> str:
    return f"port_{number}" if each.port else ""


def _host_acl(name: str, patterns: Sequence[str]) -> Iterator[str]:
    """One ACL that any of its lines may fulfil; after `--` a pattern is none of HAProxy's options, as `-i` would be."""
    for each in patterns:
        if is_network(each):
            yield f"    acl {name} var(txn.host),ltrim([),rtrim(]) -m ip {each}\n"
        elif "*" in each:
            yield f"    acl {name} var(txn.host) -m reg -- {expression(each)}\n"
        elif each.startswith("."):
            yield f"    acl {name} var(txn.host) -m str -- {each[1:]}\n    acl {name} var(txn.host) -m end -- {each}\n"
        else:
            yield f"    acl {name} var(txn.host) -m str -- {each}\n"


def _mapped(routes: Sequence[RouteSettings]) -> Iterator[str]:
    """The targets; HAProxy cannot open a tunnel itself, so tinyproxy opens one to a target, or back to the frontend for what is inside."""
    yield f"frontend mapped\n    bind 127.0.0.1:{MAPPED_PORT}\n{_HOST}"
    for number, each in enumerate(routes):
        yield from _route_acls(number, each)
        if each.scheme != "https":
            yield f"    use_backend mapped_{number} if host_{number} path_{number} {_port_acl(number, each)}\n"
    yield "    default_backend unmapped\n"
    yield 'backend unmapped\n    http-request return status 404 content-type text/plain string "No mapping has this address."\n'
    yield f"backend inside\n    http-request set-uri 127.0.0.1:{MAPPED_PORT}\n    server tinyproxy 127.0.0.1:{DIRECT_PORT}\n"
    for number, each in enumerate(routes):
        place = f"{each.target_host}:{each.target_port}"
        yield f"backend mapped_{number}\n    http-request del-header Proxy-Authorization\n    http-request del-header Proxy-Connection\n"
        yield f"    http-request set-uri {_path(each)}\n    server target {place}\n"
        yield f"backend tunnel_{number}\n    http-request set-uri {place}\n    server tinyproxy 127.0.0.1:{DIRECT_PORT}\n"


def _path(each: RouteSettings) -> str:
    """The path and the query, with what stands for the beginning of the path."""
    if each.target_path is None:
        return "%[pathq]"
    beginning = each.path.replace(".", "[.]").replace("+", "[+]")
    return f"%[pathq,regsub(^{beginning},{each.target_path})]"


def _upstream(found: UpstreamSettings) -> Iterator[str]:
    yield "backend upstream\n"
    if found.username is None:
        yield "    http-request del-header Proxy-Authorization\n"
    else:
        yield f'    http-request set-header Proxy-Authorization "Basic {credentials(found)}"\n'
    yield _NEVER_ASKED
    tls = f" ssl verify required ca-file @system-ca sni str({found.host}) verifyhost {found.host}" if found.tls else ""
    yield f"    server upstream {found.address}{tls}\n"


def credentials(found: UpstreamSettings) -> str:
    """User and password as HTTP's Basic scheme has them (RFC 7617)."""
    password = found.password.reveal() if found.password else ""
    return base64.b64encode(f"{found.username}:{password}".encode()).decode()
