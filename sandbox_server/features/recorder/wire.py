"""What goes in and out of the flight recorder's operations."""

from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.recorder.journal import ActorType

MAX_EVENTS = 1000


class EventFilter(Model):
    actor: ActorType | None = None
    """Only what the agent, a person or the system did."""
    name: Annotated[str, Field(max_length=200)] | None = None
    """Only what the actor of this name did: the subject of a token, or a person's name."""
    kind: Annotated[str, Field(max_length=200)] | None = None
    """Only these kinds, separated by commas: `command`, `file`, `input`, `navigation`, `control`, `handoff`, `receipt`, `checkpoint`,
    `call`, `read`, `video`, `log`."""
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
    limit: Annotated[int, Field(ge=1, le=MAX_EVENTS)] = 200
    """Most events to give."""


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


class Events(Model):
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
