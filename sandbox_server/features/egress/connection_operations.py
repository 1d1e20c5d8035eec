"""The operations on connections: the list, and the events that pages follow."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Call, Caller, Event, EventTypes, Failure, Model, operation
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.features.egress.connections import ConnectionAction, ConnectionTable, EgressConnection
from sandbox_server.features.egress.status import EgressStatus, EgressStatusReader

LOOK_SECONDS = 1.0
"""Between two events for pages."""
MAX_TOLD = 100
"""Connections of one event."""
MAX_LISTED = 2000


class ListConnections(Model):
    state: Literal["all", "open", "ended"] = "all"
    action: ConnectionAction | None = None
    """Only what was allowed or denied."""
    host: Annotated[str, Field(max_length=253)] | None = None
    """Only connections to this name or address."""
    limit: Annotated[int, Field(ge=1, le=MAX_LISTED)] = 200


class EgressNews(Model):
    status: EgressStatus
    connections: list[EgressConnection]
    """New or changed since the last event, the latest first; at first the last 100."""
    left_out: int
    """How many more have changed."""


EVENTS = EventTypes("EgressEvent", {"egress": EgressNews})


class EgressConnections:
    """Lists connections, and tells pages of them."""

    tag = "egress"

    def __init__(self, client: EgressClient, table: ConnectionTable, status: EgressStatusReader) -> None:
        self._client = client
        self._table = table
        self._status = status

    @operation("GET /v1/egress/connections", scope="admin")
    async def list_connections(self, request: ListConnections, call: Call) -> list[EgressConnection]:
        """List the connections that are open, and the last 1000 that ended or were refused, the latest first.

        What the browser connects to while a person is private is listed for that person alone, then and later.
        """
        self._client.check()
        await self._measure()
        found = self._table.open if request.state != "ended" else []
        found = found + (self._table.ended if request.state != "open" else [])
        wanted = [
            each
            for each in sorted(found, key=lambda each: (-each.at, -each.id))
            if each.seen_by(call.caller) and request.action in (None, each.action) and request.host in (None, each.host)
        ]
        return [each.shown() for each in wanted[: request.limit]]

    async def follow(self, call: Call) -> AsyncIterator[Event] | None:
        """Begin to tell a caller; None for one who may not see connections."""
        return self._events(call.caller) if call.caller.may("admin") else None

    async def _events(self, caller: Caller) -> AsyncIterator[Event]:
        version, told = 0, None
        while True:
            await self._measure()
            status = await self._status.egress_status()
            changed = [each for each in self._table.changed_since(version) if each.seen_by(caller)]
            version = self._table.version
            if changed or status != told:
                shown = [each.shown() for each in changed[:MAX_TOLD]]
                news = EgressNews(status=status, connections=shown, left_out=max(0, len(changed) - MAX_TOLD) if told else 0)
                told = status
                yield Event("egress", news.model_dump(mode="json"))
            await asyncio.sleep(LOOK_SECONDS)

    async def _measure(self) -> None:
        """Take the bytes that open connections have carried so far."""
        if self._table.open:
            with suppress(Failure):
                self._table.measure((await self._client.ask("flows"))["flows"])
