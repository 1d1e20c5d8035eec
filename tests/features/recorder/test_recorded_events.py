"""What is written down beside calls."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller
from sandbox_server.core.control import Holding
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.recorded_events import HandoffEntries, InputEntries, LeaseEntries, LineEntries
from tests.patience import eventually

pytestmark = pytest.mark.anyio

PERSON, ROBOT = Caller("owner#1", person=True), Caller("robot")


@dataclass(frozen=True)
class Change:
    kind: str
    by: str
    person: bool
    holding: Holding
    note: str = ""


class Lease:
    def __init__(self) -> None:
        self.changes: asyncio.Queue[Change] = asyncio.Queue()

    async def news(self, after: str | None) -> AsyncIterator[Change]:
        while True:
            yield await self.changes.get()


@dataclass
class Asked:
    id: str = "h-1"
    kind: str = "login"
    status: str = "open"
    asked_by: str = "robot"
    claimed_by: str | None = None
    closed_by: str | None = None
    outcome: str | None = None
    note: str = ""
    reason: str = "Sign in at acme"
    choice: str | None = None
    approval: "Allowed | None" = None


@dataclass
class Allowed:
    subject: str = "shell"
    rule: str = "push"
    details: Mapping[str, str] = field(default_factory=lambda: {"command": "git push --token=hunter2"})


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(EventLog(str(tmp_path), 1 << 20)) as opened:
        yield opened


async def kinds(journal: Journal, *wanted: str) -> list[dict[str, Any]]:
    return await journal.read(None, lambda entry: entry["kind"] in wanted, 20)


async def test_keys_and_clicks_are_counted_and_stand_before_the_change_that_ended_them(journal: Journal) -> None:
    inputs, lease = InputEntries(journal), Lease()
    async with LeaseEntries(journal, lease, inputs, Redaction()):
        for _ in range(3):
            inputs.note(PERSON, "keys", 1)
        inputs.note(PERSON, "clicks", 1)
        lease.changes.put_nowait(Change("released", "owner#1", True, Holding(3), "my token: hunter2"))
        counted, released = await eventually(lambda: _two(journal))
    assert (counted["actor"], counted["counts"]) == ({"type": "person", "name": "owner#1"}, {"keys": 3, "clicks": 1})
    assert released["note"] == "my token: ***"
    assert (released["event"], released["actor"]["type"], released["epoch"]) == ("released", "person", 3)


async def _two(journal: Journal) -> list[dict[str, Any]] | None:
    found = await kinds(journal, "input", "control")
    return found if len(found) == 2 else None


async def test_what_is_private_is_not_even_counted(journal: Journal) -> None:
    journal.private = lambda: True
    inputs = InputEntries(journal)
    inputs.note(PERSON, "keys", 1)
    inputs.note(ROBOT, "keys", 2)
    inputs.write()

    assert [entry["counts"] for entry in await kinds(journal, "input")] == [{"keys": 2}]


async def test_nobody_who_did_it_is_the_system(journal: Journal) -> None:
    lease = Lease()
    async with LeaseEntries(journal, lease, InputEntries(journal), Redaction()):
        lease.changes.put_nowait(Change("returned:idle", "clock", False, Holding(3)))
        lease.changes.put_nowait(Change("requested", "robot", False, Holding(3)))
        clock, robot = await eventually(lambda: _two(journal))
    assert (clock["actor"]["type"], robot["actor"]["type"]) == ("system", "agent")


async def test_a_handoff_is_told_by_each_that_moved_it_and_its_note_is_counted(journal: Journal) -> None:
    entries = HandoffEntries(journal, Redaction())
    entries.kept(Asked())
    entries.kept(Asked())
    entries.kept(Asked(status="claimed", claimed_by="owner#1"))
    entries.kept(Asked(status="closed", claimed_by="owner#1", closed_by="owner#1", outcome="done", note="hunter2"))
    entries.kept(Asked(id="h-2", status="closed", closed_by="robot", outcome="cancelled"))
    entries.kept(Asked(id="h-3", status="closed", closed_by="clock", outcome="timeout"))

    found = await kinds(journal, "handoff")
    assert [(entry["event"], entry["actor"]["type"], entry["actor"]["name"]) for entry in found] == [
        ("open", "agent", "robot"),
        ("claimed", "person", "owner#1"),
        ("closed", "person", "owner#1"),
        ("closed", "agent", "robot"),
        ("closed", "system", "clock"),
    ]
    assert found[2]["note_length"] == 7
    assert "hunter2" not in str(found)


async def test_what_was_asked_and_chosen_is_told_without_secrets(journal: Journal) -> None:
    entries = HandoffEntries(journal, Redaction(["opensesame"]))
    entries.kept(Asked(kind="choice", reason="Which of them? password=hunter2"))
    closed: dict[str, Any] = {"status": "closed", "closed_by": "owner#1", "outcome": "done"}
    entries.kept(Asked(kind="choice", reason="Which of them? password=hunter2", choice="opensesame", **closed))

    asked, answered = await kinds(journal, "handoff")
    assert (asked["reason"], "choice" in asked) == ("Which of them? password=***", False)
    assert (answered["reason"], answered["choice"]) == (asked["reason"], "***")


async def test_an_approval_is_told_with_what_it_is_about_without_secrets(journal: Journal) -> None:
    entries = HandoffEntries(journal, Redaction())
    entries.kept(Asked(kind="approve", approval=Allowed()))
    entries.kept(Asked(kind="approve", status="closed", closed_by="owner#1", outcome="once", approval=Allowed()))

    asked, answered = await kinds(journal, "handoff")
    assert (asked["asks"], asked["subject"], asked["rule"], asked["details"]) == (
        "approve",
        "shell",
        "push",
        {"command": "git push --token=***"},
    )
    assert (answered["outcome"], answered["actor"]) == ("once", {"type": "person", "name": "owner#1"})


async def test_who_is_private_is_told_with_every_change(journal: Journal) -> None:
    lease = Lease()
    async with LeaseEntries(journal, lease, InputEntries(journal), Redaction()):
        lease.changes.put_nowait(Change("private:button", "owner#1", True, Holding(3, "human", "owner#1", private="owner#1")))
        lease.changes.put_nowait(Change("public", "owner#1", True, Holding(4, "human", "owner#1")))
        found = await eventually(lambda: _two(journal))
    assert [entry["private"] for entry in found] == ["owner#1", None]


async def test_lines_are_told_without_their_secrets_and_not_in_private(journal: Journal) -> None:
    lines = LineEntries(journal, Redaction())
    lines.entered(PERSON, "s-1", "login --token hunter2")
    journal.private = lambda: True
    lines.entered(PERSON, "s-1", "pwd")

    [entry] = await kinds(journal, "command")
    assert (entry["actor"]["type"], entry["session"], entry["command"]) == ("person", "s-1", "login --token ***")
