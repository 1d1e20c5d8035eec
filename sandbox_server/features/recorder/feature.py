"""The flight recorder as it is read."""

from collections.abc import AsyncIterator

from sandbox_server.core import Call, Event, InvalidArgument, operation, stream_of
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.features.recorder.wire import Events, ReadEvents, RecordedEvent, Verification


class EventLogReader:
    """Reads the record; nothing changes it."""

    tag = "recorder"

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @operation("GET /v1/recorder/events", scope="admin")
    async def read_events(self, request: ReadEvents) -> Events:
        """Read who did what, the oldest first; as server-sent events, from after `Last-Event-ID` or from now on.

        What may be a secret is left out of it: texts that were typed are counted, values of addresses' queries and of fields are not kept.
        """
        after = request.after if request.after is not None or request.since is None else 0
        found = await self._journal.read(after, request.matches, request.limit)
        return Events(events=[RecordedEvent(**entry) for entry in found], next=found[-1]["n"] if found else request.after or 0)

    @stream_of(read_events)
    async def follow_events(self, request: ReadEvents, call: Call) -> AsyncIterator[Event]:
        """Follow who does what."""
        return self._follow(request, _number(call.last_event_id) if call.last_event_id else request.after)

    @operation("GET /v1/recorder/verify", scope="admin")
    async def verify_events(self) -> Verification:
        """Check that no event that is kept was changed, left out or put in."""
        verdict = await self._journal.verify()
        return Verification(
            ok=verdict.broken is None, entries=verdict.entries, first=verdict.first, head=verdict.head, broken=verdict.broken
        )

    async def _follow(self, request: ReadEvents, after: int | None) -> AsyncIterator[Event]:
        async for entry in self._journal.follow(after, request.matches):
            yield Event("event", entry, str(entry["n"]))


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise InvalidArgument("Last-Event-ID is the number of an event")
    return int(text)
