"""What the proxy does with which host: a value, and the one place where hosts are compared with patterns."""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox_server.patterns import glob
from sandbox_server.settings.kinds import Secret
from sandbox_server.settings.proxy import ProxySettings, RouteSettings, UpstreamSettings, route, upstream

OWN = ("localhost", ".localhost", "127.0.0.0/8", "0.0.0.0", "::1", "169.254.0.0/16", "fe80::/10")
"""What only makes sense from here, so that no upstream is ever asked for it; Chromium connects to these without any proxy."""


@dataclass(frozen=True, slots=True)
class ProxyPlan:
    """Everything that was configured."""

    upstream: UpstreamSettings | None = None
    auth_command: str | None = None
    """What writes the upstream's credentials; they are in `upstream` only while this process lives."""
    excludes: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    """If there are any, only these go to the upstream."""
    routes: tuple[RouteSettings, ...] = ()

    @property
    def in_use(self) -> bool:
        """Whether the browser and new processes go through the proxy: without an upstream and routes it has nothing to do."""
        return bool(self.upstream or self.routes)

    def mapped(self, scheme: str, host: str, port: int, path: str) -> RouteSettings | None:
        """The route that a request takes, the most particular one where there are several."""
        return next((found for found in ordered(self.routes) if _takes(found, scheme, host, port, path)), None)

    def to_upstream(self, host: str) -> bool:
        """Whether the upstream is asked for a host that no route takes."""
        if self.upstream is None or covers(OWN, host) or covers(self.excludes, host):
            return False
        return not self.includes or covers(self.includes, host)


def ordered(routes: Iterable[RouteSettings]) -> list[RouteSettings]:
    """The order in which routes are tried: hosts without `*` first, then those with more letters, then longer paths, then named ports."""
    return sorted(routes, key=lambda each: ("*" in each.host, -len(each.host), -len(each.path), each.port is None, each.scheme is None))


def _takes(found: RouteSettings, scheme: str, host: str, port: int, path: str) -> bool:
    if found.scheme not in (None, scheme) or found.port not in (None, port):
        return False
    return covers([found.host], host) and (scheme == "https" or path.startswith(found.path))


def covers(patterns: Iterable[str], host: str) -> bool:
    """Whether a host, a name or an address, is what one of the patterns means."""
    name = host.lower().strip("[]").rstrip(".")
    return any(_covers(each, name) for each in patterns)


def _covers(pattern: str, name: str) -> bool:
    if is_network(pattern):
        try:
            return ipaddress.ip_address(name) in ipaddress.ip_network(pattern)
        except ValueError:
            return False
    if "*" in pattern:
        return glob(pattern).fullmatch(name) is not None
    if pattern.startswith("."):
        return name == pattern[1:] or name.endswith(pattern)
    return name == pattern


def is_network(pattern: str) -> bool:
    """Whether a pattern is an address or a network."""
    try:
        ipaddress.ip_network(pattern)
    except ValueError:
        return False
    return True


def expression(pattern: str) -> str:
    """A pattern with `*` as a regular expression for PCRE, which goes through a name once: what is between two `*` is found, and kept."""
    first, *between, last = [part.replace(".", "[.]") for part in pattern.split("*")]
    return f"^{first}{''.join(f'(?>.*?{part})' for part in between if part)}.*{last}$"


def configured(settings: ProxySettings) -> ProxyPlan:
    """What the variables say."""
    command = settings.auth_command.reveal() if settings.auth_command else None
    excludes = tuple(dict.fromkeys((*settings.exclude, *settings.bypass)))
    return ProxyPlan(settings.server, command, excludes, settings.include, settings.routes)


def stored(plan: ProxyPlan) -> dict[str, Any]:
    """A plan as JSON; credentials that a command writes are not in it."""
    found = plan.upstream
    credentials = plan.auth_command is None
    return {
        "upstream": found
        and {
            "address": f"{'https' if found.tls else 'http'}://{found.address}",
            "username": found.username if credentials else None,
            "password": found.password.reveal() if found.password and credentials else None,
        },
        "auth_command": plan.auth_command,
        "excludes": plan.excludes,
        "includes": plan.includes,
        "routes": [(each.source, each.target) for each in plan.routes],
    }


def restored(value: Mapping[str, Any]) -> ProxyPlan:
    """The plan of `stored`. Raises KeyError, TypeError and ValueError where it is none."""
    found: UpstreamSettings | None = None
    if value["upstream"]:
        password = value["upstream"]["password"]
        found = upstream(value["upstream"]["address"])
        found = replace(found, username=value["upstream"]["username"], password=None if password is None else Secret(password))
    routes = tuple(route(source, target) for source, target in value["routes"])
    return ProxyPlan(found, value["auth_command"], tuple(value["excludes"]), tuple(value["includes"]), routes)
