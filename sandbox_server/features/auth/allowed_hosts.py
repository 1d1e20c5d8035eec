"""The host names that are accepted while authentication is off.

A page whose owner points a name here (DNS rebinding) has one origin with the sandbox, for the browser and in `Origin`.
Only the host name tells it from a page of the sandbox.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address

from sandbox_server.core import PermissionDenied
from sandbox_server.features.auth.original import Original

NO_HOST = "_"
"""nginx's host for a request of HTTP/1.0 without `Host`, which no browser sends."""
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9_.-]{1,255}))(?::[0-9]{1,5})?")
_PORT_BEFORE = re.compile(r"[0-9]{1,5}-")


type IsOwn = Callable[[str], Awaitable[bool]]


async def _none(name: str) -> bool:
    return False


class AllowedHosts:
    """The accepted names: addresses, `localhost`, the machine's own name, `allowed`, and preview hosts below `domain`.

    An entry of `allowed` that begins with `*.` matches every name below it. `is_own` decides about all others.
    """

    def __init__(self, allowed: Iterable[str], own: str, domain: str | None, is_own: IsOwn = _none) -> None:
        names = tuple(allowed)
        self._names = {"localhost", NO_HOST, own.lower(), *(name for name in names if not name.startswith("*."))}
        self._below = (".localhost", *(name[1:] for name in names if name.startswith("*.")))
        self._domain = domain.partition(":")[0].lower() if domain else None
        self._is_own = is_own

    async def check(self, original: Original) -> None:
        """Raise PermissionDenied unless the request's host is accepted. A proxy in front checks the host itself."""
        outer = original.headers.get("x-forwarded-host")
        for authority in (original.headers.get("host", NO_HOST), *([outer] if outer else [])):
            if not await self._has(authority):
                raise PermissionDenied(
                    "with AUTH=off this sandbox answers to IP addresses, localhost and its own host name: add other names to ALLOWED_HOSTS"
                )

    async def _has(self, authority: str) -> bool:
        found = _AUTHORITY.fullmatch(authority)
        if found is None:
            return False
        name = (found["v6"] or found["name"]).lower().removesuffix(".")
        known = name in self._names or name.endswith(self._below) or _is_address(name) or self._is_preview(name)
        return known or (not found["v6"] and await self._is_own(name))

    def _is_preview(self, name: str) -> bool:
        port = _PORT_BEFORE.match(name)
        return port is not None and self._domain is not None and name[port.end() :] == self._domain


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
