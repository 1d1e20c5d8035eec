"""What of the gateway's configuration depends on the settings: where it listens, where the editors do, and which sites may use it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox_server.settings import GatewaySettings


def has_ipv6(proc: str = "/proc/net") -> bool:
    """Whether this network namespace has IPv6 at all: an nginx that is told to listen on it would not start without."""
    try:
        return bool((Path(proc) / "if_inet6").read_text().strip())
    except FileNotFoundError:
        return False


def listen(settings: GatewaySettings, *, has_ipv6: bool) -> str:
    """Write where the gateway's door listens, and how many connections one address outside may have."""
    lines = [f"listen {settings.ipv4}:{settings.port};"] if settings.ipv4 else []
    if settings.ipv6 and has_ipv6:
        lines.append(f"listen [{settings.ipv6}]:{settings.port} ipv6only=on;")
    if settings.address_connections:
        lines.append(f"limit_conn outside {settings.address_connections};")
    return "\n".join([*lines, ""])


def body(settings: GatewaySettings) -> str:
    """Write the largest body that the outer server takes."""
    return f"client_max_body_size {settings.max_body_bytes};\n"


def upstreams(ports: Mapping[str, int]) -> str:
    """Write the `upstream` blocks of the editors, by name and loopback port, which nginx reads as it starts, whether they run or not."""
    return "".join(f"upstream {name} {{ server 127.0.0.1:{port} max_fails=0; }}\n" for name, port in ports.items())


def origins(allowed: Iterable[str]) -> str:
    """Write what nginx knows of other sites: which `Origin` may read answers, and whose pages may frame ours.

    `allowed` are origins in the form in which browsers send them, of which nothing has a meaning in nginx or in a policy.
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
