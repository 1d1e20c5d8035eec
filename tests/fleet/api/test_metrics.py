"""What the service measures, as it is scraped."""

import httpx2
import pytest
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired

from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import ready, told

pytestmark = pytest.mark.anyio


async def scraped(http: httpx2.AsyncClient) -> dict[str, float]:
    """Each sample with its labels, as it is written."""
    answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in answer.text.splitlines() if not line.startswith("#")}


async def test_sandboxes_are_counted_by_state_and_what_becomes_of_them_too(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    before = await scraped(http)
    one = await ready(fleet, "one")
    await ready(fleet, "two")
    await told(fleet, "two", Desired.PAUSED)
    await told(fleet, "two", Desired.RUNNING)
    await told(fleet, "two", Desired.STOPPED)
    now = await scraped(http)
    assert now['tandem_sandboxes{state="ready",template=""}'] == now['tandem_sandboxes{state="stopped",template=""}'] == 1
    assert now["tandem_created_total"] - before["tandem_created_total"] == 2
    paused = 'tandem_transitions_total{after="paused",before="ready"}'
    assert now[paused] - before.get(paused, 0) == 1
    assert not [name for name in now if one.id in name or one.tenant in name]


async def test_what_is_gone_is_counted_no_more(http: httpx2.AsyncClient, fleet: Fleet, engine: MemoryBackend) -> None:
    await ready(fleet)
    await told(fleet, "work", Desired.DELETED)
    assert not [name for name in await scraped(http) if name.startswith("tandem_sandboxes{")]
    assert 'tandem_engine_call_seconds_count{call="delete"}' in await scraped(http)
