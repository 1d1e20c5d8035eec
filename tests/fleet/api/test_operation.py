"""Operations of who operates the fleet."""

import json

import httpx2
import pytest
from tandem_fleet.fleet import Fleet

from tests.fleet.test_fleet import ready

pytestmark = pytest.mark.anyio


async def test_a_fleet_that_is_emptied_says_so_to_who_wants_more(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    assert (await http.get("/v1/drain")).json()["draining"] is False
    told = (await http.put("/v1/drain", json={"draining": True, "stop": True, "idle_minutes": 0})).json()
    assert (told["draining"], told["stopped"], told["used"]) == (True, ["default/work"], [])
    refused = await http.post("/v1/sandboxes", json={})
    assert (refused.status_code, refused.json()["error"]["code"], refused.headers["retry-after"]) == (503, "draining", "60")
    assert (await http.put("/v1/drain", json={"draining": False})).json() == {"draining": False, "stopped": [], "used": []}
    assert (await http.post("/v1/sandboxes", json={})).status_code == 201
    for wrong in ({}, {"draining": True, "idle_minutes": -1}, {"draining": True, "all": True}):
        assert (await http.put("/v1/drain", json=wrong)).status_code == 422


async def test_the_store_comes_as_lines_with_an_end(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    said = [json.loads(line) for line in (await http.get("/v1/backup")).text.splitlines()]
    assert (said[0]["key"], said[-1]) == (fleet.key.number, {"end": len(said) - 2})
    assert {"sandboxes", "events", "tenants"} <= {one["table"] for one in said[1:-1]}
