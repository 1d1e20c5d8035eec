"""The events of the egress process, kept until its followers have them: bounded for each kind, and counted."""

import asyncio
import itertools
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sandbox_server.egress.private_time import PrivateTime

MAX_KEPT = 512
"""Events of one kind that wait for a follower. The oldest of that kind gives way, so no kind pushes out another."""
MAX_FOLLOWERS = 16
FOLLOWER_NAMES = ("connections", "secrets")
"""Followers that go on where they were, after a while without a connection."""

type FlowEvent = dict[str, object]


class TooManyFollowers(Exception):
    """So many follow the events that nobody else may."""


class FlowEventFollower:
    """One who follows, from after the event with the number `position`; a name is one of FOLLOWER_NAMES, or empty."""

    def __init__(self, events: "FlowEvents", name: str, position: int) -> None:
        self._events = events
        self.taken = position
        """The number of the last event that was taken."""
        self._woken = asyncio.Event()
        self.name = name
        self.position = position
        """The number of the last event that has arrived."""

    def take(self) -> list[FlowEvent]:
        """Return what has happened since, in order. The first is `lost`, with the kinds, if events gave way before they were taken."""
        found = self._events.after(self.taken)
        self.taken = self._events.number
        return found

    async def next(self) -> list[FlowEvent]:
        """Wait until something happens, and take it."""
        while not (found := self.take()):
            self._woken.clear()
            await self._woken.wait()
        return found

    def delivered(self, number: int) -> None:
        """Note that what was taken has arrived, up to an event: it is not kept for this follower any more."""
        self.position = max(self.position, min(number, self.taken))
        self._events.forget(self)

    def wake(self) -> None:
        """Note that there is an event."""
        self._woken.set()


class FlowEvents:
    """The events of this process, from its start."""

    def __init__(self, private: PrivateTime | None = None) -> None:
        self.private = private or PrivateTime()
        self._kept: defaultdict[str, deque[tuple[int, FlowEvent]]] = defaultdict(deque)
        self._gone: dict[str, int] = {}
        """The number of the last event of each kind that gave way."""
        self._positions = dict.fromkeys(FOLLOWER_NAMES, 0)
        self._followers: set[FlowEventFollower] = set()
        self.number = 0
        """The number of the last event."""
        self.counts: Counter[str] = Counter()
        """How many events of each kind there were, and how many were `dropped`."""
        self.observe: Callable[[FlowEvent], None] = lambda _: None
        """Called with each event, also where nobody follows."""

    @property
    def followed(self) -> bool:
        """Whether anybody follows."""
        return bool(self._followers)

    def publish(self, kind: str, **fields: object) -> None:
        """Tell everyone who follows, without waiting. What is private is marked, and not counted: everybody may see the counts."""
        event = {"event": kind, "at": round(time.time(), 3), **self.marked(fields)}
        if event.get("private") is None:
            self.counts[kind] += 1
        self.number += 1
        self.observe(event)
        kept = self._kept[kind]
        if len(kept) >= MAX_KEPT:
            self._gone[kind], _ = kept.popleft()
            self.counts["dropped"] += 1
        kept.append((self.number, event))
        for follower in self._followers:
            follower.wake()

    def marked(self, fields: Mapping[str, object]) -> Mapping[str, object]:
        """Return what is told of a connection, with the person as `private` whom alone it may be told to."""
        if fields.get("private") is not None or "uid" not in fields:
            return fields
        person = self.private.person_of(fields["uid"], fields["inode"])
        return fields if person is None else {**fields, "private": person}

    @contextmanager
    def follow(self, name: str = "") -> Iterator[FlowEventFollower]:
        """Follow the events: under a name from where its last follower was, or from the start, else from now on.

        Raises TooManyFollowers, and ValueError for a name that is not known.
        """
        if len(self._followers) >= MAX_FOLLOWERS:
            raise TooManyFollowers
        if name and name not in self._positions:
            raise ValueError(f"no follower {name[:80]!r}; known are {', '.join(self._positions)}")
        follower = FlowEventFollower(self, name, self._positions[name] if name else self.number)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    def forget(self, delivered_to: FlowEventFollower) -> None:
        """Note how far a follower is, and forget what has arrived everywhere."""
        if delivered_to.name:
            self._positions[delivered_to.name] = delivered_to.position
        least = min(itertools.chain(self._positions.values(), (each.position for each in self._followers)))
        for kept in self._kept.values():
            while kept and kept[0][0] <= least:
                kept.popleft()

    def after(self, position: int) -> list[FlowEvent]:
        """Return the events behind a position, in order, and first whether some of them gave way."""
        if position == self.number:
            return []
        found = [each for kept in self._kept.values() for each in itertools.takewhile(lambda one: one[0] > position, reversed(kept))]
        lost = sorted(kind for kind, number in self._gone.items() if number > position)
        told: list[FlowEvent] = [{"event": "lost", "at": round(time.time(), 3), "kinds": lost}] if lost else []
        return told + [event for _, event in sorted(found, key=lambda each: each[0])]
