"""What a person changed."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import DeadlineExceeded, Unavailable
from sandbox_server.core.receipt import HOLDING, Receipt
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder import receipts as module
from sandbox_server.features.recorder.receipts import ComputerSnapshot, Receipts
from tests.patience import eventually

pytestmark = pytest.mark.anyio

BEFORE = ComputerSnapshot({"1": "https://a.example/", "2": "https://b.example/"}, {1: "Chromium", 2: "Old"}, "/before")
AFTER = ComputerSnapshot({"1": "https://a.example/in?session=1", "3": "https://c.example/"}, {1: "Chromium", 3: "New"}, "/after")


class Eyes:
    """See what a test says."""

    def __init__(self) -> None:
        self.looks = [BEFORE, AFTER]
        self.names: list[str] = []
        self.changed: Callable[[str], None] = lambda _: None
        self.fails = False

    async def fields(self, changed: Callable[[str], None]) -> None:
        self.changed = changed
        await asyncio.get_running_loop().create_future()

    async def look(self, name: str) -> ComputerSnapshot:
        if self.fails:
            raise Unavailable("there is no desktop")
        self.names.append(name)
        return self.looks.pop(0) if self.looks else AFTER

    async def blind(self) -> ComputerSnapshot:
        return ComputerSnapshot({}, {}, None)

    async def files_since(self, when: float) -> list[str]:
        return ["/home/gem/new.txt"]

    def downloads_since(self, when: float) -> list[str]:
        return ["/home/gem/Downloads/a.pdf"]


class Kept:
    """Receipts over a journal, and what they told."""

    def __init__(self, journal: Journal, snapshots: Eyes) -> None:
        self.journal, self.snapshots = journal, snapshots
        self.told: list[Receipt | None] = []
        self.receipts = Receipts(journal, snapshots, Redaction(), self.told.append)

    def drives(self, holder: str | None, event: str = "taken", **more: Any) -> None:
        self.journal.record("control", "person", holder or "ann", event=event, state="human" if holder else "agent", holder=holder, **more)

    async def receipt(self) -> Receipt:
        found = await eventually(lambda: next((each for each in self.told if each), None))
        assert isinstance(found, Receipt)
        return found


@pytest.fixture
async def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Kept]:
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0)
    async with Journal(EventLog(str(tmp_path), 1 << 20)) as journal:
        made = Kept(journal, Eyes())
        async with made.receipts:
            yield made


async def begun(kept: Kept) -> None:
    kept.drives("ann")
    await eventually(lambda: kept.snapshots.names or kept.snapshots.fails)
    assert kept.told == [None]


async def test_a_receipt_tells_what_is_other_than_before_and_what_was_done(kept: Kept) -> None:
    await begun(kept)
    kept.snapshots.changed("User name")
    kept.snapshots.changed("User name")
    kept.journal.record("command", "person", "ann", session="s", command="ls")
    kept.journal.record("command", "agent", "robot", operation="shell.exec_command")
    kept.journal.record("input", "person", "ann", counts={"keys": 3})
    kept.journal.record("input", "person", "ann", counts={"keys": 1, "clicks": 2})
    kept.drives(None, "released", note="done")

    made = await kept.receipt()
    assert [(tab.was, tab.now) for tab in made.tabs] == [
        ("https://a.example/", "https://a.example/in?session=…"),
        ("https://b.example/", None),
        (None, "https://c.example/"),
    ]
    assert (made.windows_opened, made.windows_closed) == (["New"], ["Old"])
    assert (made.fields, made.commands, made.inputs) == (["User name"], ["ls"], {"keys": 4, "clicks": 2})
    assert (made.files, made.downloads) == (["/home/gem/new.txt"], ["/home/gem/Downloads/a.pdf"])
    assert made.unseen == []
    assert (made.person, made.ended, made.note, made.before, made.after) == ("ann", "released", "done", "/before", "/after")
    [entry] = await kept.journal.read(None, lambda entry: entry["kind"] == "receipt", 5)
    assert entry["receipt"] == made.model_dump(mode="json")


async def test_of_what_is_done_in_private_nothing_is_told_but_what_there_is_after(kept: Kept) -> None:
    await begun(kept)
    kept.snapshots.changed("Name")
    kept.journal.private = lambda: True
    kept.snapshots.changed("Card")
    kept.journal.record("command", "person", "ann", session="s", command="ls")
    kept.journal.private = lambda: False
    kept.drives(None, "released")

    made = await kept.receipt()
    assert (made.private, made.fields, made.commands) == (True, ["Name"], [])
    assert [tab.now for tab in made.tabs] == ["https://a.example/in?session=…", None, "https://c.example/"]


async def test_while_it_is_private_only_the_agents_own_files_are_told(kept: Kept) -> None:
    await begun(kept)
    kept.journal.private = lambda: True
    made = await kept.receipts.of("ann", time.time() - 60, time.time())

    assert made
    assert (made.private, made.tabs, made.before, made.after) == (True, [], None, None)
    assert made.files


async def test_without_a_desktop_a_receipt_tells_the_rest(kept: Kept) -> None:
    kept.snapshots.fails = True
    await begun(kept)
    kept.drives(None, "returned:idle")

    made = await kept.receipt()
    assert (made.ended, made.tabs, made.windows_opened, made.files) == ("returned:idle", [], [], ["/home/gem/new.txt"])
    assert made.unseen == ["tabs", "windows"], "and not that every tab was closed"


async def test_files_that_take_too_long_to_find_are_said_to_be_unseen(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forever(_: float) -> list[str]:
        raise DeadlineExceeded("the program did not end within 4 s")

    monkeypatch.setattr(kept.snapshots, "files_since", forever)
    await begun(kept)
    kept.drives(None, "released")

    made = await kept.receipt()
    assert (made.files, made.unseen, len(made.tabs)) == ([], ["files"], 3)


async def test_one_person_after_another_gives_two_receipts(kept: Kept) -> None:
    await begun(kept)
    kept.drives("bob", "given")
    assert (await kept.receipt()).person == "ann"
    now = time.time()
    mine = await kept.receipts.of("bob", now, now)
    assert mine
    assert (mine.person, mine.ended) == ("bob", HOLDING)


async def test_who_asks_for_the_receipt_of_a_person_waits_until_it_is_made(kept: Kept) -> None:
    since = time.time()
    await begun(kept)
    kept.drives(None, "released")
    made = await kept.receipts.of("ann", since, time.time())

    assert made
    assert made.person == "ann"
    assert await kept.receipts.of("bob", since, time.time()) is None
    assert await kept.receipts.of("ann", time.time() + 60, time.time() + 120) is None, "a turn that was over before"
    assert await kept.receipts.of("ann", since - 120, since - 60) is None, "a turn that began after"


async def test_who_asks_for_a_receipt_waits_for_it_when_the_next_persons_is_made_already(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    since, looking, let_go = time.time(), asyncio.Event(), asyncio.Event()

    async def first_late(_: float) -> list[str]:
        if not looking.is_set():
            looking.set()
            await let_go.wait()
        return []

    monkeypatch.setattr(kept.snapshots, "files_since", first_late)
    await begun(kept)
    kept.drives("bob", "given")
    await looking.wait()
    kept.drives(None, "released")
    assert (await kept.receipt()).person == "bob"
    asking = asyncio.create_task(kept.receipts.of("ann", since, time.time()))
    await asyncio.sleep(0)
    let_go.set()
    made = await asking
    assert made
    assert made.person == "ann"
