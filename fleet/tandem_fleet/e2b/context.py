"""What a call into a sandbox is about: the sandbox, the user in it, and the variables of its programs."""

import base64
import binascii
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request

from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.sandbox_calls import SandboxCalls

AGENTS = frozenset({"", "user", "gem"})
"""Names of the sandbox's agent: E2B's, and Tandem's."""
ROOT = "root"
ROOT_HOME = "/root"
MAX_KEEPALIVE_SECONDS = 300
KEEPALIVE_SECONDS = 50


@dataclass(frozen=True)
class Context:
    """One call."""

    calls: SandboxCalls
    environment: Mapping[str, str]
    """Variables that the sandbox was made with."""
    request: Request

    @property
    def root(self) -> bool:
        """Whether it is done as root. Raises `RPCError` for another user than root and the agent."""
        return is_root(self._user())

    def _user(self) -> str:
        """The name in `Authorization: Basic`, which has no password."""
        kind, _, value = self.request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "basic":
            return ""
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[0]
        except (binascii.Error, ValueError):
            raise RPCError("unauthenticated", "the user in Authorization cannot be read") from None

    async def resolve(self, path: str) -> str:
        """An absolute path: one that is relative, or begins with `~/`, is below the user's home."""
        return resolve(path, ROOT_HOME if self.root else await self.calls.home())

    @property
    def keepalive_seconds(self) -> float:
        """How often a silent stream is to say that it goes on."""
        text = self.request.headers.get("keepalive-ping-interval", "")
        if text.isascii() and text.isdigit() and len(text) < 6:
            return min(max(1, int(text)), MAX_KEEPALIVE_SECONDS)
        return KEEPALIVE_SECONDS


def is_root(user: str) -> bool:
    """Whether a user is root, and not the agent. Raises `RPCError` for others."""
    if user != ROOT and user not in AGENTS:
        raise RPCError("unauthenticated", f"invalid username: {user[:64]!r}; there are user and root")
    return user == ROOT


def resolve(path: str, home: str) -> str:
    """An absolute path without `..`. Raises `RPCError` for another user's home."""
    if "\0" in path:
        raise RPCError("invalid_argument", "a path has no zero byte")
    if path.startswith("~"):
        if path[1:2] not in ("", "/"):
            raise RPCError("invalid_argument", "cannot expand user-specific home dir")
        path = home + path[1:]
    absolute = posixpath.normpath(posixpath.join(home, path))
    return absolute[1:] if absolute.startswith("//") else absolute
