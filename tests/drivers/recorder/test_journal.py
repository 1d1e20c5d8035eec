"""What is written behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.recorder import journal as module
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal

pytestmark = pytest.mark.anyio


def calls(entry: dict[str, Any]) -> bool:
    return bool(entry["kind"] == "call")


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(EventLog(str(tmp_path), 1 << 20)) as opened:
        yield opened


async def test_what_was_recorded_is_read_at_once(journal: Journal) -> None:
    journal.record("call", "agent", "robot", operation="file.write_file", later=lambda: {"request": {"path": "/x"}})

    [entry] = await journal.read(None, calls, 10)
    assert entry["actor"] == {"type": "agent", "name": "robot"}
    assert (entry["operation"], entry["request"]) == ("file.write_file", {"path": "/x"})
    assert (await journal.verify()).broken is None


async def test_one_entry_that_cannot_be_made_whole_takes_no_other_with_it(journal: Journal) -> None:
    journal.record("call", "agent", "robot", later=lambda: {"x": 1 / 0})
    journal.record("call", "agent", "robot", number=2)

    assert len(await journal.read(None, calls, 10)) == 2


async def test_who_follows_gets_what_was_there_and_what_comes_once_each(journal: Journal) -> None:
    journal.record("call", "agent", "robot", number=1)
    [first] = await journal.read(None, calls, 1)
    journal.record("call", "agent", "robot", number=2)
    following = journal.follow(first["n"], calls)
    async with asyncio.timeout(30):
        assert (await anext(following))["number"] == 2
        journal.record("log", "system", "x")
        journal.record("call", "agent", "robot", number=3)
        assert (await anext(following))["number"] == 3
    await following.aclose()  # type: ignore[attr-defined] # it is a generator


async def test_what_does_not_fit_is_counted_and_the_log_says_how_much(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    await journal.read(None, calls, 1)
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    for _ in range(8):
        journal.record("call", "agent", "robot")

    entries = await journal.read(None, lambda entry: entry.get("event") == "lost" or calls(entry), 10)
    assert [entry.get("lost") for entry in entries] == [None, None, None, 5]


async def test_a_disk_that_takes_nothing_loses_entries_and_fails_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(str(tmp_path), 1 << 20)
    write = log._write
    async with Journal(log) as journal:
        await journal.read(None, calls, 1)

        def full(_: bytes) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(log, "_write", full)
        journal.record("call", "agent", "robot")
        assert await journal.read(None, calls, 1) == []
        monkeypatch.setattr(log, "_write", write)
        journal.record("call", "agent", "robot")
        found = await journal.read(None, lambda entry: "lost" in entry or calls(entry), 9)
        assert [entry.get("lost") for entry in found] == [None, 1]


async def test_everything_is_on_disk_when_it_is_closed(tmp_path: Path) -> None:
    async with Journal(EventLog(str(tmp_path), 1 << 20)) as journal:
        journal.record("call", "agent", "robot")
    log = EventLog(str(tmp_path), 1 << 20)
    log.open()
    assert [entry.get("event") for entry in log.read(0, lambda _: True, 9)] == ["file", "start", None, "stop"]


async def test_nothing_is_written_where_it_is_off(tmp_path: Path) -> None:
    async with Journal(EventLog(str(tmp_path / "none"), 1 << 20), on=False) as journal:
        journal.record("call", "agent", "robot")
        assert await journal.read(None, calls, 9) == []
    assert not (tmp_path / "none").exists()
