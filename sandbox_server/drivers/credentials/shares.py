"""Share links: whoever has one sees one port, until it expires or is revoked."""

import hashlib
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from sandbox_server.core.errors import NotFound, ResourceExhausted
from sandbox_server.drivers.storage.json_file import JsonFile

MAX_SHARES = 256
"""Limit of valid links."""
_TOKEN = re.compile(r"sh-[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class PortShare:
    """One link. Only the hash of its token is stored."""

    id: str
    port: int
    created: float
    expires: float
    """Seconds since the epoch, as `created`."""
    caller: str
    """Name of the caller who made it."""
    note: str


def is_share(text: str) -> bool:
    """Whether a string has the form of our tokens, unlike other programs' `share` parameters."""
    return _TOKEN.fullmatch(text) is not None


class PortShares:
    """The valid links, in a file that survives a restart of this process."""

    def __init__(self, file: JsonFile, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._now = now
        self._by_digest: dict[str, PortShare] | None = None
        self._changing = threading.Lock()  # else a link that is made could bring back one that is revoked meanwhile

    def create(self, port: int, seconds: float, *, caller: str, note: str = "") -> tuple[PortShare, str]:
        """Make a link to a port; return it and its token. Raises ResourceExhausted at the limit."""
        token = f"sh-{secrets.token_urlsafe(32)}"
        share = PortShare(secrets.token_hex(6), port, self._now(), self._now() + seconds, caller, note)
        with self._changing:
            kept = self._live()
            if len(kept) >= MAX_SHARES:
                raise ResourceExhausted(f"{MAX_SHARES} share links are in force; revoke one", limit=MAX_SHARES)
            self._keep(kept | {_digest(token): share})
        return share, token

    def all(self) -> list[PortShare]:
        """Return the valid links, oldest first."""
        return sorted(self._live().values(), key=lambda share: share.created)

    def revoke(self, share_id: str) -> None:
        """Revoke a link. Its sessions are refused from the next request on. Raises NotFound."""
        with self._changing:
            live = self._live()
            kept = {digest: share for digest, share in live.items() if share.id != share_id}
            if len(kept) == len(live):
                raise NotFound(f"no share link {share_id!r}", share_id=share_id)
            self._keep(kept)

    def find(self, token: str) -> PortShare | None:
        """Return the link of a token, if it is valid."""
        return self._live().get(_digest(token))

    def forget(self) -> None:
        """Read the file again at the next use."""
        self._by_digest = None

    def holds(self, share_id: str) -> bool:
        """Whether a link is valid."""
        return any(share.id == share_id for share in self._live().values())

    def _live(self) -> dict[str, PortShare]:
        if self._by_digest is None:
            self._by_digest = {digest: PortShare(**fields) for digest, fields in (self._file.read() or {}).items()}
        return {digest: share for digest, share in self._by_digest.items() if share.expires > self._now()}

    def _keep(self, shares: dict[str, PortShare]) -> None:
        self._file.write({digest: asdict(share) for digest, share in shares.items()})
        self._by_digest = shares


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
