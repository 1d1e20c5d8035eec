"""Credentials for git in the box (gitcredentials(7)): for configured hosts, over https."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from sandbox_server import patterns
from sandbox_server.core import InvalidArgument

_HOST = patterns.compile(r"[a-z0-9]([a-z0-9.-]{0,252}[a-z0-9])?(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class GitCredential:
    """What git sends to a host."""

    username: str
    password: str
    expires_at: float | None = None
    """Seconds since the epoch; None if it does not end."""


type FindCredential = Callable[[str], Awaitable[GitCredential | None]]
"""Finds the credential for a host, such as `git.example.org:8443`."""


class GitCredentials:
    """Finds credentials: the placeholder of a secret that is bound to the host first, then a token, for `hosts` alone."""

    def __init__(self, hosts: Collection[str], token: FindCredential, placeholder: FindCredential | None = None) -> None:
        self._hosts = frozenset(hosts)
        self._token = token
        self._placeholder = placeholder

    async def find(self, protocol: str, host: str) -> GitCredential | None:
        """Return the credential; None for another protocol than https, and for every other host. Raises InvalidArgument."""
        named = host.lower().removesuffix(":443")
        if not _HOST.fullmatch(named):
            raise InvalidArgument("host must be a host's name, with a port or without")
        if protocol != "https":
            return None
        if self._placeholder and (found := await self._placeholder(named)):
            return found
        return await self._token(named) if named in self._hosts else None
