"""The part of the gateway's configuration that depends on the settings: listening address, editors, and allowed origins."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox_server.settings import GatewaySettings


def has_ipv6(proc: str = "/proc/net") -> bool:
    """Whether this network namespace has IPv6. nginx would not start if told to listen on it without."""
    try:
        return bool((Path(proc) / "if_inet6").read_text().strip())
    except FileNotFoundError:
        return False


def listen(settings: GatewaySettings, *, has_ipv6: bool) -> str:
    """Return the gateway's listen directives, and the limit of connections of one address outside."""
    lines = [f"listen {settings.ipv4}:{settings.port};"] if settings.ipv4 else []
    if settings.ipv6 and has_ipv6:
        lines.append(f"listen [{settings.ipv6}]:{settings.port} ipv6only=on;")
    if settings.address_connections:
        lines.append(f"limit_conn outside {settings.address_connections};")
    return "\n".join([*lines, ""])


def body(settings: GatewaySettings) -> str:
    """Return the limit of a request body at the outer server."""
    return f"client_max_body_size {settings.max_body_bytes};\n"


def upstreams(ports: Mapping[str, int]) -> str:
    """Return the `upstream` blocks of the editors, by name and loopback port. nginx reads them at its start."""
    return "".join(f"upstream {name} {{ server 127.0.0.1:{port} max_fails=0; }}\n" for name, port in ports.items())


def published_places(ports: Iterable[int], *, has_ipv6: bool) -> list[str]:
    """Return where the container listens for published ports, as addresses with a port."""
    return [f"{address}:{port}" for port in ports for address in ("0.0.0.0", "[::]")[: 1 + has_ipv6]]


def published(ports: Iterable[int], *, has_ipv6: bool) -> str:
    """Return the servers of published ports. Each leads to the same port of the box's loopback, of either family."""
    return "".join(_published(port, published_places([port], has_ipv6=has_ipv6)) for port in ports)


def _published(port: int, places: Iterable[str]) -> str:
    listening = " ".join(f"listen {place}{' ipv6only=on' if place.startswith('[') else ''};" for place in places)
    return (
        f"upstream published_{port} {{ server 127.0.0.1:{port} max_fails=0; server [::1]:{port} backup max_fails=0; }}\n"
        f"server {{ {listening} proxy_pass published_{port}; proxy_timeout 24h; proxy_connect_timeout 5s; proxy_socket_keepalive on; }}\n"
    )


def origins(allowed: Iterable[str]) -> str:
    """Return nginx's maps of other sites: which `Origin` may read answers, and whose pages may frame ours.

    `allowed` are origins as browsers send them, which contain no special character of nginx or of a policy.
    """
    known = tuple(allowed)
    lines = ["map $http_origin $known_origin {", '    default "";', *(f'    "{origin}" "{origin}";' for origin in known), "}"]
    framing = " ".join(["'self'", *known])
    lines += [
        'map "" $framing_origins {',
        f'    default "{framing}";',
        "}",
        'map "" $varies {',
        f'    default "{"Origin" if known else ""}";',
        "}",
    ]
    return "\n".join([*lines, ""])
