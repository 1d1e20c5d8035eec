"""The proxy by which connections leave whose rule names no upstream of its own: the setting PROXY_SERVER.

It is kept in a file, so that nothing leaves by another way before the API is there to say so again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.drivers.egress.upstream import Upstream, parse_upstream
from sandbox_server.drivers.storage import atomic_write

MAX_PATTERNS = 1000


@dataclass(frozen=True)
class UpstreamUse:
    """A proxy, and the hosts that go by it: not those of `excludes`, and if there are `includes` only those."""

    upstream: Upstream | None = None
    excludes: tuple[str, ...] = field(default=())
    includes: tuple[str, ...] = field(default=())

    def takes(self, host: str) -> bool:
        """Whether a host goes by it."""
        if self.upstream is None:
            return False
        from sandbox_server.drivers.proxy.routing_plan import OWN, covers  # RE2, which takes memory that a process without upstream saves

        if covers((*OWN, *self.excludes), host):
            return False
        return not self.includes or covers(self.includes, host)


class DefaultUpstream:
    """The proxy in use. An unreadable file is a proxy that nobody knows: then everything fails that would go by it."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self._use = UpstreamUse()
        if path and Path(path).exists():
            self._use = read_use(json.loads(Path(path).read_text(encoding="utf-8")))

    def of(self, destination: Destination) -> Upstream | None:
        """Return the proxy for a destination; None where the connection is direct."""
        return self._use.upstream if self._use.takes(destination.name or str(destination.address)) else None

    def operation(self, request: Mapping[str, Any]) -> Mapping[str, object]:
        """Serve the operation `upstream` of the control socket, as `replace` does."""
        self.replace({name: request[name] for name in ("url", "excludes", "includes")})
        return {}

    def replace(self, given: Mapping[str, Any]) -> None:
        """Use another proxy, or none, for new connections, and keep that for the next process. Raises ValueError and OSError."""
        use = read_use(given)
        if self._path:
            atomic_write.replace(self._path, json.dumps(given), mode=0o600)
        self._use = use


def read_use(given: Mapping[str, Any]) -> UpstreamUse:
    """Read `{"url", "excludes", "includes"}`; raises ValueError, which never repeats the URL."""
    url = given.get("url")
    if url is not None and not isinstance(url, str):
        raise ValueError("url must be text")
    return UpstreamUse(parse_upstream(url) if url else None, _patterns(given, "excludes"), _patterns(given, "includes"))


def _patterns(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found: Sequence[Any] = given.get(name) or ()
    if len(found) > MAX_PATTERNS or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{name} must be at most {MAX_PATTERNS} texts")
    return tuple(found)
