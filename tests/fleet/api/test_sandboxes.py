"""Operations on sandboxes."""

import httpx2
import pytest
from tandem_fleet.fleet import Fleet
from tandem_fleet.gateway.addresses import Addresses

from tests.fleet.test_fleet import ready

pytestmark = pytest.mark.anyio


async def test_a_sandbox_is_made_listed_and_removed(http: httpx2.AsyncClient) -> None:
    made = await http.post("/v1/sandboxes", params={"wait": 60}, json={"name": "work", "memory_mb": 512})
    assert (made.status_code, made.json()["state"], made.json()["spec"]["image"]) == (201, "ready", "image")
    assert [one["name"] for one in (await http.get("/v1/sandboxes")).json()["sandboxes"]] == ["work"]
    assert (await http.get("/v1/sandboxes", params={"state": "stopped"})).json()["sandboxes"] == []
    paused = await http.post("/v1/sandboxes/work/pause", params={"wait": 60})
    assert paused.json()["state"] == "paused"
    gone = await http.delete("/v1/sandboxes/work", params={"wait": 60})
    assert (gone.status_code, gone.json()["state"]) == (200, "deleted")
    assert (await http.get("/v1/sandboxes/work")).status_code == 404


async def test_the_same_request_made_again_gives_the_same_sandbox(http: httpx2.AsyncClient) -> None:
    both = [(await http.post("/v1/sandboxes", json={"name": "work"}, headers={"Idempotency-Key": "k"})).json()["id"] for _ in range(2)]
    assert both[0] == both[1]
    other = await http.post("/v1/sandboxes", json={"name": "other"}, headers={"Idempotency-Key": "k"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")


async def test_a_list_goes_on_at_its_cursor(http: httpx2.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await http.post("/v1/sandboxes", json={"name": name})
    first = (await http.get("/v1/sandboxes", params={"limit": 2})).json()
    second = (await http.get("/v1/sandboxes", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [[one["name"] for one in page["sandboxes"]] for page in (first, second)] == [["a", "b"], ["c"]]
    assert second["next_cursor"] is None


async def test_a_token_comes_with_the_place_where_it_is_used(http: httpx2.AsyncClient, fleet: Fleet, gateway: str) -> None:
    await ready(fleet)
    made = (await http.put("/v1/sandboxes/work/token", json={"scopes": ["view"], "seconds": 60})).json()
    assert (made["address"], made["state"], made["seconds"]) == (gateway, "ready", 60)
    assert (made["token"].count("."), made["url"]) == (2, "")
    fleet.addresses = Addresses("https://boxes.test", "boxes.test", named=True)
    one = (await http.get("/v1/sandboxes/work")).json()["id"]
    made = (await http.put("/v1/sandboxes/work/token", json={"scopes": ["view"]})).json()
    assert made["url"] == f"https://{one}.boxes.test"
