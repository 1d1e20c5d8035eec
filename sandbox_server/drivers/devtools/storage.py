"""Local storage and databases (IndexedDB) of any origin, open or not: seen from a hidden page that gets an empty document in place of the
origin's own."""

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

MAX_ORIGINS = 100
# Not as properties: an item that is called as one of the methods is none.
_READ = """JSON.stringify(Array.from({length: localStorage.length}, (_, index) => localStorage.key(index))
    .map(name => ({name, value: localStorage.getItem(name)})))"""
_WRITE = "items => { for (const {name, value} of items) localStorage.setItem(name, value) }"
_EMPTY: Object = {"responseCode": 200, "responseHeaders": [{"name": "Content-Type", "value": "text/html"}], "body": ""}

STORAGE_SECONDS = 60.0
"""For all databases of an origin."""

type Items = list[dict[str, str]]
type Databases = list[dict[str, Any]]
"""As in Playwright's storage state."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What an origin keeps."""

    items: Items
    databases: Databases
    left: str | None = None
    """What was left out, and why."""


class Storage:
    """Reads and writes what origins keep."""

    def __init__(self, devtools: Devtools) -> None:
        self._devtools = devtools

    async def origins(self) -> list[str]:
        """The origins of what is open and of what was visited, as far as that is known; at most `MAX_ORIGINS`."""
        open_now = (await self._devtools.command("Target.getTargets"))["targetInfos"]
        urls = [info["url"] for info in open_now if info["type"] in ("page", "iframe")]
        urls += [exchange.url for exchange in self._devtools.traffic if exchange.kind == "document"]
        known = dict.fromkeys(origin_of(url) for url in urls if url.startswith(("http:", "https:")))
        return [origin for origin in known if origin][:MAX_ORIGINS]

    async def read(self, origins: Iterable[str]) -> dict[str, Stored]:
        """What each origin keeps that keeps anything."""
        async with self._visitor() as visitor:
            found = {origin: await _read(visitor, origin) for origin in origins}
        return {origin: each for origin, each in found.items() if each.items or each.databases or each.left}

    async def write(self, stored: dict[str, Stored]) -> None:
        """Set items and records, beside those that are there. Raises Conflict for an origin that takes none."""
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
    items = _parsed(origin, await visitor.run(origin, _READ))
    try:
        found = _parsed(origin, await visitor.run(origin, f"{_databases()}.read()"))
    except Conflict as error:
        return Stored(items, [], f"its databases: {error.message}")
    return Stored(items, found["databases"], f"{found['left']} records that JSON has no form for" if found["left"] else None)


def _parsed(origin: str, text: str) -> Any:
    """What was kept, by whatever page; raises Conflict for what is nested too deep. Half a surrogate pair stays what it is."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _unusable(origin, "what it keeps is nested too deep") from None


@cache
def _databases() -> str:
    """A script that is an object with the functions `read` and `write`."""
    lines = Path(__file__).with_name("indexed_db.js").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//"))


class _Visitor:
    """A page that may be at any origin."""

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
        """The value of a script at an origin; raises Conflict where there is none."""
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
