"""What every page follows: who drives, what is asked of people and which ports are open, over one connection."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress

from sandbox_server.core import Call, Event, EventTypes, operation
from sandbox_server.core.tasks import start_task
from sandbox_server.features.control.control import EVENTS as CONTROL_EVENTS
from sandbox_server.features.egress.connection_operations import EVENTS as EGRESS_EVENTS
from sandbox_server.features.handoff.handoffs import EVENTS as HANDOFF_EVENTS
from sandbox_server.features.ports.port_events import EVENTS as PORT_EVENTS
from sandbox_server.features.workload_identity.binding import EVENTS as IDENTITY_EVENTS

EVENTS = EventTypes(
    "LiveEvent",
    {**CONTROL_EVENTS.data, **HANDOFF_EVENTS.data, **PORT_EVENTS.data, **EGRESS_EVENTS.data, **IDENTITY_EVENTS.data},
)

type Follow = Callable[[Call], Awaitable[AsyncIterator[Event] | None]]
"""Begins to follow something for a caller; None where the caller may not."""


class LiveEvents:
    """Merges event streams into one. A browser opens at most six connections to a host over HTTP/1.1, for all of its tabs together."""

    tag = "control"

    def __init__(self, *sources: Follow) -> None:
        self._sources = sources

    @operation("GET /v1/events", scope="view", events=EVENTS)
    async def live_events(self, call: Call) -> AsyncIterator[Event]:
        """Follow who drives, what is asked of people and which ports are open over one connection, as server-sent events.

        Its events are `control`, as `GET /v1/control/events` sends it, and `handoffs`, as `GET /v1/handoffs/events` does. With the scope
        `code` also `ports`: the list of `GET /v1/ports`, at first and whenever it changes. With the scope `admin` also `egress`: the
        status and the connections that are new or changed, at most once a second. `identity` says what the sandbox is bound to, at first
        and whenever that changes. A person who follows counts as a viewer.
        """
        begun = [await source(call) for source in self._sources]
        return _merged([source for source in begun if source])


async def _merged(sources: Sequence[AsyncIterator[Event]]) -> AsyncIterator[Event]:
    """The events of all, each as it comes. It ends when one of them does; then, and when it is closed, all are closed."""
    coming = {start_task(anext(source)): source for source in sources}
    try:
        while True:
            done, _ = await asyncio.wait(coming, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                source = coming.pop(task)
                event = task.result()
                coming[start_task(anext(source))] = source
                yield event
    except StopAsyncIteration:
        return
    finally:
        for task in coming:
            task.cancel()
        await asyncio.gather(*coming, return_exceptions=True)
        for source in sources:
            with suppress(AttributeError):  # an iterator need not be a generator
                await source.aclose()  # type: ignore[attr-defined] # see above
