"""The open ports as a page follows them: each time when a program begins or ends to listen."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping

from sandbox_server.core import Call, Event, EventTypes
from sandbox_server.drivers.ports.holders import Holder
from sandbox_server.drivers.ports.listening_ports import Listener, Ports
from sandbox_server.features.ports.ports import ListeningPort, PortViews

LOOK_SECONDS = 1.0
"""Seconds between two looks at the kernel's table, which wake no process of the agent's."""

EVENTS = EventTypes("PortEvent", {"ports": list[ListeningPort]})

type _Sockets = frozenset[tuple[str, int, int]]


class PortEvents:
    """Tells pages of the open ports. One look at the table serves all who follow; programs are looked up only for new sockets."""

    def __init__(self, views: PortViews, ports: Ports, interval: float = LOOK_SECONDS) -> None:
        self._views = views
        self._ports = ports
        self._interval = interval
        self._found: tuple[_Sockets, Mapping[int, Holder]] = (frozenset(), {})
        self._finding = asyncio.Lock()
        self._seen: list[Listener] = []
        self._seen_at = -math.inf
        self._looking = asyncio.Lock()

    async def follow(self, call: Call) -> AsyncIterator[Event] | None:
        """Begin to tell a caller; None for one who may not see ports."""
        return self._events(call) if call.caller.may("code") else None

    async def _events(self, call: Call) -> AsyncIterator[Event]:
        told: _Sockets | None = None
        while True:
            listeners = await self._look()
            sockets = _sockets(listeners)
            if sockets != told:
                told = sockets
                holders = await self._holders(sockets, listeners)
                shown = self._views.described(listeners, holders, call)
                yield Event("ports", [port.model_dump(mode="json") for port in shown])
            await asyncio.sleep(self._interval)

    async def _look(self) -> list[Listener]:
        """Return the open ports as of less than an interval ago."""
        async with self._looking:
            if time.monotonic() - self._seen_at >= self._interval:
                self._seen = await self._ports.open()
                self._seen_at = time.monotonic()
            return self._seen

    async def _holders(self, sockets: _Sockets, listeners: list[Listener]) -> Mapping[int, Holder]:
        async with self._finding:
            known, holders = self._found
            if known != sockets:
                holders = await self._views.holders_of(listeners)
                self._found = (sockets, holders)
            return holders


def _sockets(listeners: list[Listener]) -> _Sockets:
    return frozenset((str(listener.address), listener.port, listener.inode) for listener in listeners)
