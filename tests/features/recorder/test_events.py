"""The record as it is read."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.features.recorder.events import EVENTS, EventFilter, EventLogReader, ReadEvents
from tests.event_types import assert_declared

pytestmark = pytest.mark.anyio


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(EventLog(str(tmp_path), 1 << 20)) as opened:
        yield opened


async def test_events_are_read_page_by_page(journal: Journal) -> None:
    for number in range(5):
        journal.record("call", "agent", "robot", number=number)
    recorder = EventLogReader(journal)

    first = await recorder.read_events(ReadEvents(kind="call", after=0, limit=3))
    rest = await recorder.read_events(ReadEvents(kind="call", after=first.next, limit=3))
    assert [event.model_extra and event.model_extra["number"] for event in [*first.events, *rest.events]] == [0, 1, 2, 3, 4]
    latest = await recorder.read_events(ReadEvents(kind="call", limit=2))
    assert [event.n for event in latest.events] == [event.n for event in rest.events]
    assert (await recorder.read_events(ReadEvents(kind="file"))).events == []


async def test_who_follows_resumes_after_the_last_event(journal: Journal) -> None:
    recorder = EventLogReader(journal)
    journal.record("call", "agent", "robot", number=1)
    [one] = (await recorder.read_events(ReadEvents(kind="call"))).events
    journal.record("call", "agent", "robot", number=2)
    following = await recorder.follow_events(ReadEvents(kind="call"), Call(Caller("x"), "r", last_event_id=str(one.n)))
    async with asyncio.timeout(30):
        event = await anext(following)
    assert isinstance(event.data, dict)
    assert_declared(EVENTS, [event])
    assert (event.data["number"], event.id) == (2, str(event.data["n"]))
    await following.aclose()
    with pytest.raises(InvalidArgument):
        await recorder.follow_events(ReadEvents(), Call(Caller("x"), "r", last_event_id="x"))


async def test_the_chain_is_checked(journal: Journal, tmp_path: Path) -> None:
    journal.record("call", "agent", "robot")
    verified = await EventLogReader(journal).verify_events()
    assert (verified.ok, verified.first, verified.entries) == (True, 1, 3)
    [file] = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b"robot", b"human"))
    assert not (await EventLogReader(journal).verify_events()).ok


ENTRY = {"n": 1, "at": 100.0, "kind": "command", "actor": {"type": "agent", "name": "robot"}}


@pytest.mark.parametrize(
    ("asked", "matches"),
    [
        ({}, True),
        ({"actor": "agent"}, True),
        ({"actor": "person"}, False),
        ({"name": "robot"}, True),
        ({"name": "other"}, False),
        ({"kind": "file,command"}, True),
        ({"kind": "comm"}, False),
        ({"since": 100}, True),
        ({"since": 100.1}, False),
        ({"until": 100}, False),
    ],
)
def test_an_entry_is_told_by_actor_kind_and_time(asked: dict[str, object], matches: bool) -> None:
    assert EventFilter.model_validate(asked).matches(ENTRY) is matches
