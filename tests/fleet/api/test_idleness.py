"""Operations that say when a sandbox sleeps and wakes."""

import httpx2
import pytest
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired

from tests.fleet.test_fleet import ready, told

pytestmark = pytest.mark.anyio


async def test_the_policy_of_one_is_changed(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    changed = await http.put("/v1/sandboxes/work/idle", json={"pause_after_minutes": 15})
    assert (changed.status_code, changed.json()["spec"]["idle"]["pause_after_minutes"]) == (200, 15)
    assert (await http.put("/v1/sandboxes/work/idle", json={"pause_after_minutes": -1})).status_code == 422
    assert (await http.put("/v1/sandboxes/none/idle", json={})).status_code == 404


async def test_times_are_added_listed_and_removed(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    path = "/v1/sandboxes/work/schedules"
    made = await http.post(path, json={"at": "2099-01-01T08:00:00+02:00", "every_seconds": 3600})
    assert (made.status_code, made.json()["at"]) == (201, "2099-01-01T06:00:00Z")
    assert [one["id"] for one in (await http.get(path)).json()["schedules"]] == [made.json()["id"]]
    assert (await http.delete(f"{path}/{made.json()['id']}")).status_code == 204
    assert (await http.delete(f"{path}/{made.json()['id']}")).status_code == 404
    for body in ({}, {"at": "2099-01-01T08:00:00"}, {"every_seconds": 1}, {"at": "9999-12-31T23:59:59-23:00"}):
        assert (await http.post(path, json=body)).status_code == 422, body


async def test_one_that_sleeps_is_woken_by_a_call(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    await told(fleet, "work", Desired.PAUSED)
    assert (await http.post("/v1/sandboxes/work/wake", params={"wait": 60})).json()["state"] == "ready"
