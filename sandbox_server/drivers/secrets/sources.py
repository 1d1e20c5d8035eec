"""Where values come from: the container's environment, files, and stores over HTTPS."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from sandbox_server.drivers.egress.bound_secrets import MAX_VALUE
from sandbox_server.drivers.secrets.definition import SecretDefinition, SecretSource, SourceKind


class ValueUnavailable(Exception):
    """A source gave no value; the message says why, without one."""


@dataclass(frozen=True, slots=True)
class FetchedValue:
    """A value, and when it is to be fetched again."""

    value: str = field(repr=False)
    until: float | None = None
    """Seconds since the epoch; None: never."""


type Store = Callable[[Mapping[str, str]], Awaitable[FetchedValue]]
"""Gets a value of a store by its place there. Raises ValueUnavailable."""


class SecretSources:
    """Gets values. `stores` are those that the settings name; `environ` is that of the container."""

    def __init__(
        self,
        environ: Mapping[str, str],
        stores: Mapping[SourceKind, Store],
        cache_seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._environ = environ
        self._stores = stores
        self._cache_seconds = cache_seconds
        self._clock = clock

    async def fetch(self, definition: SecretDefinition) -> FetchedValue:
        """Get the value of a secret. Raises ValueUnavailable."""
        source = definition.source
        if source.kind is SourceKind.ENV:
            return self._of_environment(source)
        if source.kind is SourceKind.FILE:
            value = await asyncio.to_thread(_of_file, source.place["place"])
            return FetchedValue(value, self._clock() + self._cache_seconds)
        store = self._stores.get(source.kind)
        if store is None:
            raise ValueUnavailable(f"the source {source.kind} is not configured")
        found = await store(source.place)
        return FetchedValue(found.value, min(found.until or float("inf"), self._clock() + self._cache_seconds))

    def forget(self) -> None:
        """Forget the container's environment and every store, with the credentials for them."""
        self._environ, self._stores = {}, {}

    def _of_environment(self, source: SecretSource) -> FetchedValue:
        value = self._environ.get(source.place["place"])
        if not value:
            raise ValueUnavailable(f"the container has no variable {source.place['place']}")
        return FetchedValue(value)


def _of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_VALUE + 2)
        return content.decode().removesuffix("\n")
    except OSError as error:
        raise ValueUnavailable(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueUnavailable(f"{path} is not UTF-8") from None
