"""What becomes of sandboxes, and whether all is well."""

import json

import httpx2
import pytest
from tandem_fleet.api.watching import event_lines
from tandem_fleet.fleet import Fleet

from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import ready

pytestmark = pytest.mark.anyio


async def test_events_are_server_sent_events(fleet: Fleet) -> None:
    one = await ready(fleet)
    lines = event_lines(fleet, "default", 0)
    assert await anext(lines) == b": events\n\n"
    number, kind, data = (await anext(lines)).decode().strip().split("\n")
    assert (number.split(": ")[0], kind) == ("id", "event: sandbox")
    assert json.loads(data.removeprefix("data: "))["id"] == one.id
    await lines.aclose()  # type: ignore[attr-defined] # a generator


async def test_the_doctor_says_what_holds(http: httpx2.AsyncClient, engine: MemoryBackend) -> None:
    assert (await http.get("/v1/doctor")).json()["holds"]
    engine.away = True
    told = (await http.get("/v1/doctor")).json()
    assert not told["holds"]
    assert [one["hint"] for one in told["findings"] if not one["holds"]] != [""]


async def test_logs_are_text(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    assert (await http.get("/v1/sandboxes/work/logs")).text == "a line\n"
