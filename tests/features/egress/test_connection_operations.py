import asyncio
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, Unavailable
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress import connection_operations
from sandbox_server.features.egress.connection_operations import EgressConnections, ListConnections
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.proposal import LearnedDestinations
from sandbox_server.features.egress.status import EgressStatusReader
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import OWNER, Ruling
from tests.features.egress.flows import closed, opened, refused

pytestmark = pytest.mark.anyio


@pytest.fixture
def table() -> ConnectionTable:
    return ConnectionTable()


@pytest.fixture
def listed(client: EgressClient, table: ConnectionTable, ruling: Ruling, tmp_path: Path) -> EgressConnections:
    status = EgressStatusReader(client, ruling.tasks, LearnedDestinations(JsonFile(str(tmp_path / "l.json"))), "namespace")
    return EgressConnections(client, table, status)


async def hosts(listed: EgressConnections, **wanted: Any) -> list[str]:
    return [each.host for each in await listed.list_connections(ListConnections(**wanted), OWNER)]


async def test_connections_are_listed_the_latest_first_as_asked(listed: EgressConnections, table: ConnectionTable) -> None:
    table.hear(opened(1, "h1.example"))
    table.hear(opened(2, "h2.example"))
    table.hear(refused())
    table.hear(closed(1, "h1.example"))
    assert await hosts(listed) == ["evil.example", "h2.example", "h1.example"]
    assert await hosts(listed, state="open") == ["h2.example"]
    assert await hosts(listed, state="ended") == ["evil.example", "h1.example"]
    assert await hosts(listed, action="deny") == ["evil.example"]
    assert await hosts(listed, host="h1.example") == ["h1.example"]
    assert await hosts(listed, limit=1) == ["evil.example"]


async def test_without_a_policy_there_are_no_connections_to_list(listed: EgressConnections) -> None:
    listed._client.off = "EGRESS is false"
    with pytest.raises(Unavailable, match="EGRESS is false"):
        await hosts(listed)


async def test_the_bytes_of_an_open_connection_are_of_now(lab: EgressLab, listed: EgressConnections, table: ConnectionTable) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    reader, writer = await lab.connect("a.example", 80)
    request = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
    writer.write(request)
    async with asyncio.timeout(20):
        await reader.readexactly(5)
    table.hear(await lab.event("open"))
    [shown] = await listed.list_connections(ListConnections(), OWNER)
    assert (shown.bytes_sent, shown.bytes_received, shown.ended) == (len(request), 5, None)
    writer.close()


async def test_pages_follow_what_changes_and_nothing_else(
    listed: EgressConnections, table: ConnectionTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_operations, "LOOK_SECONDS", 0.01)
    table.hear(refused())
    followed = await listed.follow(OWNER)
    assert followed

    async def told() -> dict[str, Any]:
        async with asyncio.timeout(20):
            event = await anext(followed)
        assert event.event == "egress"
        assert isinstance(event.data, dict)
        return event.data

    first = await told()
    assert ([each["host"] for each in first["connections"]], first["status"]["running"]) == (["evil.example"], True)
    waiting = asyncio.ensure_future(told())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    table.hear(opened(1, "h1.example"))
    assert [each["host"] for each in (await waiting)["connections"]] == ["h1.example"]
    for number in range(150):
        table.hear(refused(f"h{number}.example"))
    many = await told()
    assert (len(many["connections"]), many["left_out"]) == (100, 50)


async def test_who_may_not_administer_follows_nothing(listed: EgressConnections) -> None:
    assert await listed.follow(Call(Caller("eve", frozenset({"view", "code"})), "1")) is None
