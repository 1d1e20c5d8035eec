"""The record as it is read."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument, NotFound
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.features.recorder.events import EVENTS, EventFilter, EventLogReader, EventRef, ReadEvents
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


async def test_pages_go_back_from_a_number(journal: Journal) -> None:
    for number in range(6):
        journal.record("call" if number % 2 else "file", "agent", "robot", number=number)
    recorder = EventLogReader(journal)
    [latest] = (await recorder.read_events(ReadEvents(kind="call", limit=1))).events
    earlier = (await recorder.read_events(ReadEvents(kind="call", limit=5, before=latest.n))).events
    assert [event.model_extra and event.model_extra["number"] for event in earlier] == [1, 3]
    assert (await recorder.read_events(ReadEvents(before=1))).events == []
    with pytest.raises(ValueError, match="exclude"):
        ReadEvents(before=1, after=1)


async def test_lists_leave_out_output_which_one_event_has(journal: Journal) -> None:
    recorder = EventLogReader(journal)
    journal.record("command", "agent", "robot", result={"exit_code": 0, "output": "a word"})
    [listed] = (await recorder.read_events(ReadEvents(kind="command"))).events
    assert listed.model_extra == {"result": {"exit_code": 0}, "more": True}
    whole = await recorder.read_event(EventRef(n=listed.n))
    assert whole.model_extra == {"result": {"exit_code": 0, "output": "a word"}}
    with pytest.raises(NotFound):
        await recorder.read_event(EventRef(n=listed.n + 1))


ODD = [
    b"not a line",
    b"{}",
    b"[1, 2]",
    b'{"hash":"x","n":"7","at":1,"kind":"call","actor":{"type":"agent","name":"a"}}',
    b'{"hash":"x","n":7,"at":1,"kind":"call","actor":"agent"}',
    b'{"hash":"x","n":7,"at":1,"kind":"call","actor":{"type":"ghost","name":"a"}}',
    b'{"hash":"x","n":7,"at":1,"kind":["call"],"actor":{"type":"agent","name":"a"}}',
]


@pytest.mark.parametrize("line", ODD)
async def test_a_line_that_is_no_event_is_passed_over_and_breaks_the_chain(journal: Journal, tmp_path: Path, line: bytes) -> None:
    journal.record("call", "agent", "robot")
    recorder = EventLogReader(journal)
    assert len((await recorder.read_events(ReadEvents(kind="call"))).events) == 1
    [file] = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes() + line + b"\n")
    (tmp_path / "notes.jsonl").write_bytes(line)

    assert len((await recorder.read_events(ReadEvents(kind="call"))).events) == 1
    assert len((await recorder.read_events(ReadEvents(kind="call", after=0))).events) == 1
    assert not (await recorder.verify_events()).ok


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
