"""Local storage and IndexedDB of any origin. A hidden page is served an empty document at that origin to read them."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.devtools.connection import DevtoolsConnection, DevtoolsRefused, Object, connected
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.interception import origin_of
from sandbox_server.timeouts import scaled

MAX_ORIGINS = 100
# Not as properties: an item may have the name of a method.
_READ = """JSON.stringify(Array.from({length: localStorage.length}, (_, index) => localStorage.key(index))
    .map(name => ({name, value: localStorage.getItem(name)})))"""
_WRITE = "items => { for (const {name, value} of items) localStorage.setItem(name, value) }"
_EMPTY: Object = {"responseCode": 200, "responseHeaders": [{"name": "Content-Type", "value": "text/html"}], "body": ""}

STORAGE_SECONDS = scaled(60.0)
"""Seconds for all databases of an origin."""

type Items = list[dict[str, str]]
type Databases = list[dict[str, Any]]
"""In the form of Playwright's storage state."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored data of an origin."""

    items: Items
    databases: Databases
    left: str | None = None
    """What was left out, and why."""


class Storage:
    """Reads and writes the storage of origins."""

    def __init__(self, devtools: Devtools) -> None:
        self._devtools = devtools

    async def origins(self) -> list[str]:
        """Return the origins of open and visited pages, as far as known; at most `MAX_ORIGINS`."""
        open_now = (await self._devtools.command("Target.getTargets"))["targetInfos"]
        urls = [info["url"] for info in open_now if info["type"] in ("page", "iframe")]
        urls += [exchange.url for exchange in self._devtools.traffic if exchange.kind == "document"]
        known = dict.fromkeys(origin_of(url) for url in urls if url.startswith(("http:", "https:")))
        return [origin for origin in known if origin][:MAX_ORIGINS]

    async def read(self, origins: Iterable[str]) -> dict[str, Stored]:
        """Return the storage of each origin that has any."""
        async with self._visitor() as visitor:
            found = {origin: await _read(visitor, origin) for origin in origins}
        return {origin: each for origin, each in found.items() if each.items or each.databases or each.left}

    async def write(self, stored: dict[str, Stored]) -> None:
        """Set items and records beside the existing ones. Raises Conflict if an origin does not accept them."""
        if not stored:
            return
        async with self._visitor() as visitor:
            for origin, each in stored.items():
                await visitor.run(origin, f"({_WRITE})({json.dumps(each.items)})")
                if each.databases:
                    await visitor.run(origin, f"{_databases()}.write({json.dumps(each.databases)})")

    @asynccontextmanager
    async def _visitor(self) -> AsyncIterator["_Visitor"]:
        await self._devtools.connection()
        visitor = _Visitor()
        async with connected(self._devtools.socket, visitor.on_event) as connection:
            page = (await connection.command("Target.createTarget", {"url": "about:blank", "hidden": True}))["targetId"]
            self._devtools.hide(page)
            try:
                await visitor.begin(connection, page)
                yield visitor
            finally:
                connection.post("Target.closeTarget", {"targetId": page})


async def _read(visitor: "_Visitor", origin: str) -> Stored:
    items = _parse_json(origin, await visitor.run(origin, _READ))
    try:
        found = _parse_json(origin, await visitor.run(origin, f"{_databases()}.read()"))
    except Conflict as error:
        return Stored(items, [], f"its databases: {error.message}")
    return Stored(items, found["databases"], f"{found['left']} records that JSON has no form for" if found["left"] else None)


def _parse_json(origin: str, text: str) -> Any:
    """Parse stored JSON; raises Conflict if it nests too deep. Half surrogate pairs are kept."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _unusable(origin, "its stored data is nested too deep") from None


@cache
def _databases() -> str:
    """Return a script that evaluates to an object with the functions `read` and `write`."""
    lines = Path(__file__).with_name("indexed_db.js").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//"))


class _Visitor:
    """A hidden page that can be at any origin."""

    _connection: DevtoolsConnection
    _session: str

    async def begin(self, connection: DevtoolsConnection, page: str) -> None:
        self._connection = connection
        self._session = (await connection.command("Target.attachToTarget", {"targetId": page, "flatten": True}))["sessionId"]
        await connection.command("Network.enable", {}, self._session)
        await connection.command("Network.setBypassServiceWorker", {"bypass": True}, self._session)
        await connection.command("Fetch.enable", {}, self._session)

    def on_event(self, session: str | None, method: str, params: Object) -> None:
        if method == "Fetch.requestPaused":
            self._connection.post("Fetch.fulfillRequest", {"requestId": params["requestId"], **_EMPTY}, session)

    async def run(self, origin: str, script: str) -> Any:
        """Return the value of a script at an origin; raises Conflict if it fails."""
        try:
            gone = await self._connection.command("Page.navigate", {"url": f"{origin}/"}, self._session)
            running = {"expression": script, "returnByValue": True, "awaitPromise": True}
            done = await self._connection.command("Runtime.evaluate", running, self._session, timeout=STORAGE_SECONDS)
        except (DevtoolsRefused, TimeoutError) as error:
            raise _unusable(origin, str(error)) from None
        if "errorText" in gone or "exceptionDetails" in done:
            raise _unusable(origin, gone.get("errorText") or done["exceptionDetails"].get("exception", {}).get("description", "it failed"))
        return done["result"].get("value")


def _unusable(origin: str, reason: str) -> Conflict:
    return Conflict(f"the storage of {origin} cannot be used: {reason}", origin=origin)
