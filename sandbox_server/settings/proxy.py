"""The forward proxy's variables, a section of `settings`, and how their words are read. Stdlib only, for the sake of boot."""

import ipaddress
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sandbox_server.settings.kinds import PORT, SECRET, Kind, Secret, variable

PATH_CHARACTERS = r"[A-Za-z0-9._~+@=:/-]"
"""Characters that a mapping's path may have: none of them has a meaning in the proxy's configuration."""
_HOST = r"[A-Za-z0-9]+(?:(?:[_-]+(?:\.[_-]*)?|\.[_-]*)[A-Za-z0-9]+)*"
_UPSTREAM = re.compile(rf"(?:(?P<host>{_HOST})|\[(?P<six>[0-9A-Fa-f:.]+)\]):(?P<port>\d+)/?")
_SOURCE = re.compile(
    rf"(?:(?P<scheme>https?)://)?(?P<host>[A-Za-z0-9*._-]+)(?::(?P<port>\d+)(?:\*\Z)?)?(?:(?P<path>/{PATH_CHARACTERS}*)\*?)?"
)
_TARGET = re.compile(rf"(?:http://)?(?:(?P<host>{_HOST})?:)?(?P<port>\d+)(?P<path>/{PATH_CHARACTERS}*)?\*?")
_PATTERN = re.compile(r"[a-z0-9*._-]+")


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """The proxy that everything is sent through."""

    host: str
    port: int
    tls: bool = False
    """Whether the connection to that proxy uses TLS."""
    username: str | None = None
    password: Secret | None = None

    @property
    def address(self) -> str:
        """Host and port, as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class RouteSettings:
    """Requests for a source, a host with a port and a path or without, that a target of ours answers."""

    source: str
    scheme: str | None
    host: str
    """May hold `*`."""
    port: int | None
    path: str
    """Prefix of the paths."""
    target_host: str
    target_port: int
    target_path: str | None
    """Replacement of `path`; None leaves the path as it is."""

    @property
    def target(self) -> str:
        return f"{self.target_host}:{self.target_port}{self.target_path or ''}"


def upstream(text: str) -> UpstreamSettings:
    """Read `host:port` or `user:password@host:port`, with http:// or https:// before it. Raises ValueError, which never holds the text."""
    scheme, marked, rest = text.strip().partition("://")
    login, _, address = (rest if marked else scheme).rpartition("@")
    found = _UPSTREAM.fullmatch(address)
    if not found or "\n" in login or (marked and scheme not in ("http", "https")):
        raise ValueError(
            "must be host:port, http://host:port or https://host:port, with user:password@ before the host where it needs them"
        )
    user, colon, password = login.partition(":")
    return UpstreamSettings(
        found["host"] or found["six"],
        _port(found["port"]),
        bool(marked) and scheme == "https",
        unquote(user) if login else None,
        Secret(unquote(password)) if colon else None,
    )


def route(source: str, target: str) -> RouteSettings:
    """Read a mapping: `[http://]host[:port][/path]` and `[host:]port[/path]`. Raises ValueError."""
    from_, to = _SOURCE.fullmatch(source.strip()), _TARGET.fullmatch(target.strip())
    if not from_ or not re.search(r"[A-Za-z0-9*]", from_["host"]):
        raise ValueError("a source must be a host, with a protocol, a port and a path or without, as in *.example.com/api/")
    if not to:
        raise ValueError("a target must be a port, with a host and a path or without, as in :3000 or 127.0.0.1:3000/v1/")
    return RouteSettings(
        source.strip(),
        from_["scheme"],
        from_["host"].lower(),
        _port(from_["port"]) if from_["port"] else None,
        from_["path"] or "/",
        to["host"] or "127.0.0.1",
        _port(to["port"]),
        to["path"],
    )


def pattern(text: str) -> str:
    """Check a pattern for hosts: a name, `.example.com`, one with `*`, an address or a network. Raises ValueError."""
    text = text.strip().lower()
    try:
        return str(ipaddress.ip_network(text, strict=False)) if "/" in text else str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        if not _PATTERN.fullmatch(text) or not text.strip("."):
            raise ValueError("a pattern must be a domain (*.example.com, .example.com), an address or a network (10.0.0.0/8)") from None
        return text


def _port(text: str) -> int:
    return PORT.parse(text)


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pattern(word) for word in re.split(r"[\s,;]+", text) if word))


def _routes(text: str) -> tuple[RouteSettings, ...]:
    if text.lstrip().startswith("{"):
        try:
            found: Any = json.loads(text)
        except ValueError as error:
            raise ValueError(f"must be JSON, or source=target, ...: {error}") from None
        return tuple(route(str(source), str(target)) for source, target in found.items())
    pairs = (word.rpartition("=") for word in re.split(r"[\s,;]+", text) if word)
    return tuple(route(source, target) for source, _, target in pairs)


UPSTREAM: Kind[UpstreamSettings | None] = Kind("proxy", upstream, secret=True)
PATTERNS: Kind[tuple[str, ...]] = Kind("list", _patterns)
ROUTES: Kind[tuple[RouteSettings, ...]] = Kind("list or JSON", _routes)


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """The forward proxy"""

    server: UpstreamSettings | None = variable(
        "PROXY_SERVER",
        UPSTREAM,
        None,
        "Proxy for the browser and the shells: `http://[user:password@]host:port`, or https. They never see the password.",
    )
    auth_command: Secret | None = variable(
        "PROXY_AUTH_CMD", SECRET, None, "Shell command that writes `user:password` for it; run again every few minutes."
    )
    exclude: tuple[str, ...] = variable(
        "PROXY_EXCLUDE", PATTERNS, (), "Hosts that are reached without it: `*.corp.example, .local, 10.0.0.0/8`."
    )
    bypass: tuple[str, ...] = variable("PROXY_BYPASS_LIST", PATTERNS, (), "More of them.")
    include: tuple[str, ...] = variable("PROXY_INCLUDE", PATTERNS, (), "If set, only these hosts are reached through it.")
    routes: tuple[RouteSettings, ...] = variable(
        "PROXY_MAP", ROUTES, (), "Hosts that a port answers: `myapp.com=:3000, api.myapp.com/v1/*=:8081/`, or a JSON object."
    )
    port: int = variable("TINYPROXY_PORT", PORT, 8118, "Loopback port of the forward proxy for the browser and the shells.")

    @property
    def configured(self) -> bool:
        """Whether the proxy has anything to do."""
        return bool(self.server or self.routes)

    @property
    def address(self) -> str:
        """Host and port on which it listens."""
        return f"127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The proxy variables that most programs read; there is no standard."""
        url, direct = f"http://{self.address}", "localhost,127.0.0.1,::1"
        pairs = {"http_proxy": url, "https_proxy": url, "no_proxy": direct}
        return pairs | {name.upper(): value for name, value in pairs.items()} | {"NODE_USE_ENV_PROXY": "1"}
