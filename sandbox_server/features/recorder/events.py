"""The events of the flight recorder: read them, follow them, verify their chain."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from sandbox_server.core import Call, Event, EventTypes, InvalidArgument, Model, NotFound, operation, stream_of
from sandbox_server.drivers.recorder.event_log import Entry
from sandbox_server.drivers.recorder.journal import ActorType, Journal

MAX_EVENTS = 1000


class EventFilter(Model):
    actor: ActorType | None = None
    """Only what the agent, a person or the system did."""
    name: Annotated[str, Field(max_length=200)] | None = None
    """Only what the actor of this name did: the subject of a token, or a person's name."""
    kind: Annotated[str, Field(max_length=200)] | None = None
    """Only these kinds, separated by commas: `command`, `file`, `input`, `navigation`, `control`, `handoff`, `receipt`, `checkpoint`,
    `access`, `call`, `read`, `egress`, `video`, `log`."""
    since: float | None = None
    """Only from this moment on, in seconds since the epoch."""
    until: float | None = None
    """Only before this moment, in seconds since the epoch."""

    def matches(self, entry: dict[str, Any]) -> bool:
        """Whether an entry is asked for."""
        kinds = self.kind.split(",") if self.kind else None
        return (
            (self.actor is None or entry["actor"]["type"] == self.actor)
            and (self.name is None or entry["actor"]["name"] == self.name)
            and (kinds is None or entry["kind"] in kinds)
            and (self.since is None or entry["at"] >= self.since)
            and (self.until is None or entry["at"] < self.until)
        )


class ReadEvents(EventFilter):
    after: Annotated[int, Field(ge=0)] | None = None
    """The first events with a higher number than this; without it and `since` the last ones."""
    before: Annotated[int, Field(ge=1)] | None = None
    """The last events with a lower number than this: the page before one that was read. Not together with `after`."""
    limit: Annotated[int, Field(ge=1, le=MAX_EVENTS)] = 200
    """Most events to give."""

    @model_validator(mode="after")
    def _goes_one_way(self) -> Self:
        if self.after is not None and self.before is not None:
            raise ValueError("after and before exclude each other")
        return self


class EventRef(Model):
    n: Annotated[int, Field(ge=1)]
    """Its number."""


class RecordedActor(Model):
    type: ActorType
    name: str
    """Subject of the token, name of the person, or part of the system."""


class RecordedEvent(Model, extra="allow"):
    """What happened; what else it holds depends on its kind."""

    n: int
    """Its number, which only grows."""
    at: float
    """When it was over, in seconds since the epoch."""
    kind: str
    actor: RecordedActor
    hash: str
    """SHA-256 over the hash of the event before and the event as it is written."""


EVENTS = EventTypes("RecorderEvent", {"event": RecordedEvent})


class RecordedEventList(Model):
    events: list[RecordedEvent]
    """The oldest first. What else an event holds depends on its kind."""
    next: int
    """What to give as `after` for those that follow."""


class Verification(Model):
    ok: bool
    """Whether nothing that is kept was changed, left out or put in."""
    entries: int
    first: int | None
    """Number of the oldest event that is kept; those before it made room. Null: there is none."""
    head: str
    """Hash of the latest event. Note it elsewhere: as long as that event is kept, an event with this hash has to be there."""
    broken: str | None
    """Where the chain does not hold; null where it does."""


class EventLogReader:
    """Reads the record; nothing changes it."""

    tag = "recorder"

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @operation("GET /v1/recorder/events", scope="admin")
    async def read_events(self, request: ReadEvents) -> RecordedEventList:
        """Read who did what, the oldest first; as server-sent events, from after `Last-Event-ID` or from now on.

        What may be a secret is left out of it: texts that were typed are counted, values of addresses' queries and of fields are not kept.
        """
        after = request.after if request.after is not None or request.since is None or request.before is not None else 0
        found = await self._journal.read(after, request.matches, request.limit, request.before, request.until)
        next_after = found[-1]["n"] if found else request.after or 0
        return RecordedEventList(events=[RecordedEvent(**brief(entry)) for entry in found], next=next_after)

    @operation("GET /v1/recorder/events/{n}", scope="admin")
    async def read_event(self, request: EventRef) -> RecordedEvent:
        """Read one event whole: with the end of a command's output, which lists leave out (`more`)."""
        found = await self._journal.read(request.n - 1, lambda _: True, 1)
        if not found or found[0]["n"] != request.n:
            raise NotFound(f"there is no event {request.n}: it was not recorded, or made room", n=request.n)
        return RecordedEvent(**found[0])

    @stream_of(read_events, events=EVENTS)
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
            yield Event("event", brief(entry), str(entry["n"]))


def brief(entry: Entry) -> Entry:
    """An event as lists have it: without output, of which `more` says that there is some."""
    result = entry.get("result")
    if not isinstance(result, dict) or "output" not in result:
        return entry
    return {**entry, "result": {name: value for name, value in result.items() if name != "output"}, "more": True}


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise InvalidArgument("Last-Event-ID is the number of an event")
    return int(text)
