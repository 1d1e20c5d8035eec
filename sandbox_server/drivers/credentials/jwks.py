"""Token keys by id from a JWKS (RFC 7517), in a file or at a URL."""

import asyncio
import json
import logging
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from sandbox_server.core.tasks import in_access_thread, in_thread
from sandbox_server.drivers.credentials.token_keys import BadKey, TokenKey, parse_jwk

FETCH_SECONDS = 5.0
MAX_BYTES = 1024 * 1024
REFRESH_SECONDS = 600.0
"""Seconds after which keys from a URL are fetched again."""
RETRY_SECONDS = 10.0
"""Least seconds between two fetches, whatever key ids callers invent."""

_log = logging.getLogger(__name__)

type KeySet = dict[str | None, TokenKey]


def parse_key_set(text: bytes) -> KeySet:
    """Parse a JWKS. Unusable keys are left out. Raises ValueError if it is not a JWKS."""
    document = json.loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("keys"), list):
        raise BadKey("a JWKS is an object with a list of keys")
    found: KeySet = {}
    for jwk in document["keys"]:
        try:
            found[jwk.get("kid")] = parse_jwk(jwk)
        except (BadKey, AttributeError, TypeError) as error:
            _log.info("a key of the JWKS is left out: %s", error)
    return found


def _choose(keys: KeySet, kid: str | None) -> TokenKey | None:
    if kid is None and len(keys) == 1:
        return next(iter(keys.values()))
    return keys.get(kid)


class JwksFile:
    """A JWKS in a file, read again when it changes. An unreadable version leaves the last one in place."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._keys: KeySet = {}
        self._read_at: tuple[int, int] | None = None

    async def find(self, kid: str | None) -> TokenKey | None:
        """Return the key with this id; without an id, the only key."""
        await in_access_thread(self._refresh)
        return _choose(self._keys, kid)

    def _refresh(self) -> None:
        try:
            found = self._path.stat()
            version = (found.st_mtime_ns, found.st_ino)
            if version != self._read_at:
                self._keys, self._read_at = parse_key_set(self._path.read_bytes()), version
        except (OSError, ValueError) as error:
            _log.warning("JWT_JWKS_FILE cannot be read: %s", error)


class JwksUrl:
    """A JWKS at a URL, cached for ten minutes. An unknown key id causes an earlier fetch, within a rate limit."""

    def __init__(self, url: str, fetch: Callable[[str], bytes] | None = None, now: Callable[[], float] = time.monotonic) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("a JWKS URL must start with https:// or http://")
        self._url = url
        self._fetch = fetch or fetch_url
        self._now = now
        self._keys: KeySet = {}
        self._tried_at: float | None = None
        self._lock = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "jwks")
        """One of its own: it may wait for a host, and people wait for it."""

    async def find(self, kid: str | None) -> TokenKey | None:
        """Return the key with this id; without an id, the only key."""
        if self._older_than(REFRESH_SECONDS) or (_choose(self._keys, kid) is None and self._older_than(RETRY_SECONDS)):
            await self._refresh()
        return _choose(self._keys, kid)

    def _older_than(self, seconds: float) -> bool:
        return self._tried_at is None or self._now() - self._tried_at >= seconds

    async def _refresh(self) -> None:
        """Fetch the keys. Concurrent callers wait for the same fetch. After a failure the known keys stay."""
        asked_at = self._now()
        async with self._lock:
            if self._tried_at is not None and self._tried_at >= asked_at:
                return
            try:
                self._keys = parse_key_set(await in_thread(self._fetch, self._url, executor=self._thread))
            except (OSError, ValueError) as error:
                _log.warning("JWT_JWKS_URL cannot be fetched: %s", error)
            finally:
                self._tried_at = self._now()


def fetch_url(url: str) -> bytes:
    """Fetch a URL's body. Raises OSError, also for a status that is not 200, and ValueError for a body over 1 MiB."""
    with urllib.request.urlopen(url, timeout=FETCH_SECONDS) as response:
        body: bytes = response.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise ValueError(f"the JWKS is over {MAX_BYTES} bytes")
    return body
