"""Values from Vault, or a server that speaks its API: the KV engine, version 2.

https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import quote

from sandbox_server.drivers.secrets.sources import FetchedValue, ValueUnavailable
from sandbox_server.drivers.secrets.store_http import ask, text_at

MOUNT = "secret"
FIELD = "value"
RENEW_SECONDS = 3600.0
"""How often the token's lease is renewed at most, before a value is fetched."""


class Vault:
    """Fetches values with a token, whose lease it renews."""

    def __init__(self, address: str, token: str, namespace: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._address = address.rstrip("/")
        self._headers = {"X-Vault-Token": token, "X-Vault-Request": "true"} | ({"X-Vault-Namespace": namespace} if namespace else {})
        self._clock = clock
        self._renewed: float | None = None

    async def fetch(self, place: Mapping[str, str]) -> FetchedValue:
        """Get one field of a secret. Raises ValueUnavailable."""
        await self._renew()
        mount, path = (quote(place.get(name, MOUNT).strip("/")) for name in ("mount", "path"))
        answer = await ask("GET", f"{self._address}/v1/{mount}/data/{path}", self._headers)
        return FetchedValue(text_at(answer, "data", "data", place.get("field", FIELD)))

    async def _renew(self) -> None:
        """Renew the token's lease. A token without one cannot be renewed, and need not be."""
        now = self._clock()
        if self._renewed is not None and now < self._renewed + RENEW_SECONDS:
            return
        self._renewed = now
        with suppress(ValueUnavailable):
            await ask("POST", f"{self._address}/v1/auth/token/renew-self", self._headers, b"{}")
