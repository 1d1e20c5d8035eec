"""What each surface tells of the desktop's connections while a person is private, and afterwards: nothing, but to that person."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, Reply
from sandbox_server.core.control import Holding
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.connection_operations import EgressConnections, ListConnections
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.hints import EgressHints
from sandbox_server.features.egress.metrics import EgressMetrics
from sandbox_server.features.egress.private_time import PrivateTimeTeller, unless_private
from sandbox_server.features.egress.proposal import LearnedDestinations
from sandbox_server.features.egress.status import EgressStatusReader
from sandbox_server.features.recorder.egress_entries import EgressEntries
from sandbox_server.features.recorder.secret_entries import SecretEntries
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import Person, Ruling, put
from tests.features.egress.flows import closed, opened, refused
from tests.features.egress.test_approvals import Desk, desk
from tests.features.egress.test_hints import OPERATIONS as HINTED

__all__ = ["desk"]
pytestmark = pytest.mark.anyio
HER = Call(Caller("ann", frozenset({"view", "admin"}), person=True), "1")
OTHERS = (
    Call(Caller("ada", frozenset({"view", "admin"}), person=True), "2"),
    Call(Caller("ann", frozenset({"view", "admin"})), "3"),
    Call(Caller("agent", frozenset({"view", "admin"})), "4"),
)
"""Another person, a program of her name, and the agent: all of them administrators."""


def get(host: str) -> bytes:
    return f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


@dataclass
class Surfaces:
    """All that is made of connections."""

    table: ConnectionTable
    listed: EgressConnections
    hints: EgressHints
    metrics: EgressMetrics
    learned: LearnedDestinations
    entries: EgressEntries
    recorded: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture
async def surfaces(client: EgressClient, ruling: Ruling, tmp_path: Path) -> Surfaces:
    table, hints = ConnectionTable(991), EgressHints()
    learned = LearnedDestinations(JsonFile(str(tmp_path / "l.json")))
    journal = Journal(EventLog(str(tmp_path / "events"), 1 << 20), on=False)
    entries, metrics = EgressEntries(journal, Redaction()), EgressMetrics(table, str)
    table.seen += [hints.see, learned.see, entries.saw, metrics.see]
    table.over += [entries.over, metrics.over]
    listed = EgressConnections(client, table, EgressStatusReader(client, ruling.tasks, learned, "namespace"))
    made = Surfaces(table, listed, hints, metrics, learned, entries)
    journal.listen(made.recorded.append)
    return made


def browse(found: Surfaces, **more: Any) -> None:
    """What the egress process tells of the desktop: one that is carried, one that is refused, one that only the mode `learn` allows."""
    found.table.hear(opened(1, "bank.example", uid=991, **more))
    found.table.hear(opened(2, "learn.example", uid=991, learned=True, **more))
    found.table.hear(refused("evil.example", uid=991, **more))
    found.table.hear(refused("unknown.example", uid=None, **more))
    found.table.hear(closed(1, "bank.example", uid=991, sent=7, **more))
    found.table.hear(closed(2, "learn.example", uid=991, **more))


async def _list(found: Surfaces, call: Call) -> str:
    return str(await found.listed.list_connections(ListConnections(), call))


async def _news(found: Surfaces, call: Call) -> str:
    following = await found.listed.follow(call)
    assert following
    return str((await anext(following)).data["connections"])  # type: ignore[index]


async def _hint(found: Surfaces, call: Call) -> str:
    async def proceed() -> None:
        return None

    answer = await found.hints(HINTED["page"], None, call, proceed)
    return answer.hint or "" if isinstance(answer, Reply) else ""


async def _blocked(found: Surfaces, call: Call) -> str:
    return found.hints.since(f"{call.caller.name}'s server", 0.0) or ""


async def _metrics(found: Surfaces, _: Call) -> str:
    return "\n".join(line for line in found.metrics.exposition() if not line.startswith("#") and not line.endswith((" 0", "_up 1")))


async def _learned(found: Surfaces, _: Call) -> str:
    return str(found.learned.all() or "")


async def _recorded(found: Surfaces, _: Call) -> str:
    found.entries.write()
    return str(found.recorded or "")


SURFACES = {
    "list": _list,
    "news": _news,
    "hint": _hint,
    "blocked": _blocked,
    "metrics": _metrics,
    "learned": _learned,
    "recorder": _recorded,
}
NOTHING = {"[]", ""}


@pytest.mark.parametrize("surface", SURFACES)
async def test_a_surface_tells_others_nothing_of_a_persons_private_time(surfaces: Surfaces, surface: str) -> None:
    before = [await SURFACES[surface](surfaces, call) for call in OTHERS]
    browse(surfaces, private="ann")
    told = [await SURFACES[surface](surfaces, call) for call in OTHERS]
    assert set(before + told) <= NOTHING, told
    browse(surfaces)
    surfaces.table.hear(refused("evil.example", uid=1000))
    assert await SURFACES[surface](surfaces, OTHERS[0]) not in NOTHING, "what is not private is told"


async def test_the_person_has_the_list_and_the_news_of_her_own(surfaces: Surfaces) -> None:
    browse(surfaces, private="ann")
    assert "bank.example" in await _list(surfaces, HER)
    assert "evil.example" in await _news(surfaces, HER)


async def test_no_gap_in_the_numbers_tells_how_many_there_were(surfaces: Surfaces) -> None:
    surfaces.table.hear(refused("a.example"))
    browse(surfaces, private="ann")
    surfaces.table.hear(refused("b.example"))
    listed = await surfaces.listed.list_connections(ListConnections(), OTHERS[0])
    assert [each.id for each in listed] == [2, 1]


async def test_one_that_was_known_before_tells_nothing_of_what_it_carried_since(surfaces: Surfaces) -> None:
    surfaces.table.hear(opened(1, "bank.example", uid=991, request="GET /"))
    surfaces.table.hear(closed(1, "bank.example", uid=991, request="GET /secret", sent=9, private="ann"))
    assert await _list(surfaces, OTHERS[2]) == "[]"
    assert "secret" in await _list(surfaces, HER)
    assert "/secret" not in await _recorded(surfaces, OTHERS[2])


async def test_nobody_hears_of_what_was_open_in_two_peoples_time(surfaces: Surfaces) -> None:
    browse(surfaces, private="")
    assert await _list(surfaces, Call(Caller("", person=True), "5")) == "[]"
    assert await _list(surfaces, HER) == "[]"


async def test_the_egress_process_is_told_with_each_change_and_when_it_comes(lab: EgressLab, client: EgressClient) -> None:
    holding = Holding(private="ann")
    teller = PrivateTimeTeller(client, lambda: holding, {991})
    await teller.give()
    assert lab.server.private.person == "ann"
    await teller(Holding())
    assert lab.server.private.person is None


async def test_a_question_of_private_time_goes_to_its_person_and_becomes_no_rule(
    lab: EgressLab, client: EgressClient, desk: Desk, person: Person, ruling: Ruling
) -> None:
    lab.allow("a.example")
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"], "name": "asks"}, OUTSIDE]})
    await lab.serve(80)
    person.outcome = "once"
    await PrivateTimeTeller(client, lambda: Holding(private="ann"), {991}).give()
    assert await lab.said("a.example", 80, get("a.example"), 5) == b"hello"
    [asked] = person.asked
    assert (asked.private, asked.answers, asked.details["host"]) == ("ann", ("once", "deny"), "a.example")
    assert (ruling.grants.all(), ruling.told) == ([], []), "a rule would tell the host"
    assert await lab.said("a.example", 80, get("a.example"), 5) == b"hello"
    assert len(person.asked) == 1, "her answer holds until her time ends"


OUTSIDE = {"action": "allow", "cidrs": ["127.0.9.0/24"], "protocols": ["http", "tls", "tcp"], "name": "outside"}


def test_the_use_of_a_secret_in_private_time_is_neither_recorded_nor_counted(tmp_path: Path) -> None:
    recorded: list[dict[str, Any]] = []
    journal = Journal(EventLog(str(tmp_path / "events"), 1 << 20), on=False)
    journal.listen(recorded.append)
    event = {
        "event": "secret",
        "name": "T",
        "outcome": "sent",
        "host": "bank.example",
        "port": 443,
        "method": "GET",
        "path": "/",
        "at": 1.0,
    }
    hear: Callable[[Any], None] = unless_private(SecretEntries(journal).hear)
    hear({**event, "private": "ann"})
    assert recorded == []
    hear({**event, "private": None})
    assert "bank.example" in json.dumps(recorded)
