"""Agent keys: a program that has one may do what agents may, until it expires or is revoked.

One is there from the start. Boot keeps it, as the setting gives it or made at random, and it does not expire.
"""

import hashlib
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox_server.core.errors import NotFound, ResourceExhausted
from sandbox_server.drivers.credentials.keyring import new_agent_key
from sandbox_server.drivers.credentials.names import agent_of
from sandbox_server.drivers.storage.json_file import JsonFile

BOOT = "boot"
"""Who made the key that is there from the start."""
LABEL = "the key for your agent"
MAX_KEYS = 64
"""Limit of valid keys."""
_KEY = re.compile(r"tandem_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class AgentKey:
    """One key. Only its hash is stored."""

    id: str
    scopes: tuple[str, ...]
    created: float
    expires: float | None
    """Seconds since the epoch, as `created`; None if it does not expire."""
    caller: str
    """Name of the caller who made it."""
    label: str

    @property
    def name(self) -> str:
        """The name of the program that has it."""
        return agent_of(self.id)


def is_agent_key(text: str) -> bool:
    """Whether a string has the form of the keys that are made here. An operator may give boot one of another form."""
    return _KEY.fullmatch(text) is not None


class AgentKeys:
    """The valid keys, in a file that survives a restart of this process, and the one that boot keeps in a file of its own."""

    def __init__(
        self, file: JsonFile, now: Callable[[], float] = time.time, *, of_boot: Path | None = None, scopes: Iterable[str] = ()
    ) -> None:
        """Read `file`. `of_boot` is the file of boot's key, if there is one, and `scopes` are what that key allows."""
        self._file = file
        self._now = now
        self._of_boot = of_boot
        self._scopes = tuple(sorted(scopes))
        self._by_digest: dict[str, AgentKey] | None = None
        self._boots: dict[str, AgentKey] | None = None
        self._changing = threading.Lock()  # else a key that is made could bring back one that is revoked meanwhile

    def create(self, scopes: Iterable[str], seconds: float, *, caller: str, label: str = "") -> tuple[AgentKey, str]:
        """Make a key; return what is known of it, and the key itself. Raises ResourceExhausted at the limit."""
        text = new_agent_key()
        now = self._now()
        key = AgentKey(secrets.token_hex(4), tuple(sorted(scopes)), now, now + seconds, caller, label)
        with self._changing:
            kept = self._made()
            if len(kept) >= MAX_KEYS:
                raise ResourceExhausted(f"{MAX_KEYS} agent keys are in force; revoke one", limit=MAX_KEYS)
            self._keep(kept | {_digest(text): key})
        return key, text

    def all(self) -> list[AgentKey]:
        """Return the valid keys, oldest first."""
        return sorted(self._live().values(), key=lambda key: key.created)

    def revoke(self, key_id: str) -> None:
        """Revoke a key, which is refused from the next request on. Raises NotFound."""
        with self._changing:
            if any(key.id == key_id for key in self._kept_by_boot().values()):
                self._discard()
                return
            live = self._made()
            kept = {digest: key for digest, key in live.items() if key.id != key_id}
            if len(kept) == len(live):
                raise NotFound(f"no agent key {key_id!r}", key_id=key_id)
            self._keep(kept)

    def find(self, text: str) -> AgentKey | None:
        """Return what is known of a key, if it is valid."""
        digest = _digest(text)
        return self._kept_by_boot().get(digest) or (self._made().get(digest) if is_agent_key(text) else None)

    def forget(self) -> None:
        """Read the files again at the next use."""
        self._by_digest = self._boots = None

    def holds(self, caller: str) -> bool:
        """Whether the key by which a caller came is valid, itself or by a ticket."""
        name = caller.partition("#")[0]
        return any(key.name == name for key in self._live().values())

    def _live(self) -> dict[str, AgentKey]:
        return self._kept_by_boot() | self._made()

    def _kept_by_boot(self) -> dict[str, AgentKey]:
        """Return boot's key, if it is in force. Its id is another one each time that boot writes it: sessions of an older one stay void."""
        if self._boots is None:
            self._boots = _read(self._of_boot, self._scopes) if self._of_boot else {}
        return self._boots

    def _discard(self) -> None:
        if self._of_boot:
            self._of_boot.unlink(missing_ok=True)
        self._boots = {}

    def _made(self) -> dict[str, AgentKey]:
        if self._by_digest is None:
            self._by_digest = {digest: _loaded(fields) for digest, fields in (self._file.read() or {}).items()}
        return {digest: key for digest, key in self._by_digest.items() if key.expires is None or key.expires > self._now()}

    def _keep(self, keys: dict[str, AgentKey]) -> None:
        self._file.write({digest: asdict(key) for digest, key in keys.items()})
        self._by_digest = keys


def _read(file: Path, scopes: tuple[str, ...]) -> dict[str, AgentKey]:
    try:
        text, status = file.read_text().strip(), file.stat()
    except FileNotFoundError:
        return {}
    written = f"{status.st_mtime_ns & 0xFFFFFFFF:08x}"
    return {_digest(text): AgentKey(written, scopes, status.st_mtime, None, BOOT, LABEL)} if text else {}


def _loaded(fields: dict[str, object]) -> AgentKey:
    scopes = fields.get("scopes")
    return AgentKey(**fields | {"scopes": tuple(scopes if isinstance(scopes, list) else ())})  # type: ignore[arg-type] # as it was written


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
