from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.egress.connections import ConnectionProcess, ConnectionTable
from sandbox_server.features.recorder import egress_entries
from sandbox_server.features.recorder.egress_entries import EgressEntries
from tests.features.egress.flows import closed, opened, refused
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Lab:
    """Entries, and the connections that they are about."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.entries = EgressEntries(journal, Redaction(["geheim"]))
        self.table = ConnectionTable()
        self.table.seen.append(self.entries.saw)
        self.table.over.append(self.entries.over)

    async def written(self) -> list[dict[str, Any]]:
        """The entries of this kind so far."""
        return await self.journal.read(None, lambda entry: entry["kind"] == "egress", 1000)


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with Journal(EventLog(str(tmp_path / "events"), 1 << 20)) as journal:
        made = Lab(journal)
        yield made
        made.entries.write()


async def test_connections_by_the_same_rule_to_the_same_place_are_one_entry(lab: Lab) -> None:
    for number in range(1000):
        lab.table.hear(opened(number, request="GET /a?token=x"))
        lab.table.hear(closed(number, sent=1, received=2, request="GET /a?token=x"))
    lab.table.hear(refused())
    lab.table.ended[0].process = ConnectionProcess(pid=5, command="curl -H geheim")
    lab.table.ended[0].session = "shell:main"
    lab.entries.write()
    first, second = await lab.written()
    assert first["actor"] == {"type": "system", "name": "egress"}
    told = {name: first[name] for name in ("event", "host", "port", "rule", "action", "count", "ended", "bytes_sent", "bytes_received")}
    assert list(told.values()) == ["connections", "a.example", 443, "docs", "allow", 1000, 1000, 1000, 2000]
    assert first["request"] == "GET /a"
    assert (second["host"], second["action"], second["session"], second["uid"]) == ("evil.example", "deny", "shell:main", 1000)
    assert "geheim" not in second["process"]


async def test_a_flood_of_names_is_few_entries(lab: Lab) -> None:
    for number in range(5000):
        lab.table.hear(refused(f"h{number}.example"))
    lab.entries.write()
    written = await lab.written()
    assert len(written) == egress_entries.MAX_GATHERED + 1
    assert written[-1]["event"] == "more"
    assert written[-1]["count"] == 5000 - egress_entries.MAX_GATHERED


async def test_entries_are_written_a_moment_later(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_entries, "GATHER_SECONDS", 0.02)
    lab.table.hear(refused())
    assert await eventually(lab.written)


async def test_changes_of_the_policy_and_of_the_process_are_entries(lab: Lab) -> None:
    lab.entries.policy_changed("ada", "put", etag='"1"', cut=2)
    lab.entries.moved("it ended")
    lab.entries.moved("")
    written = await lab.written()
    assert [(each["event"], each["actor"]["name"]) for each in written] == [("policy", "ada"), ("away", "egress"), ("back", "egress")]
    assert (written[0]["change"], written[0]["cut"], written[1]["reason"]) == ("put", 2, "it ended")
