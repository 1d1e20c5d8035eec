"""Operations on tenants, keys and the record."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.authorization import Scope, SharedKey
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.tenants import TenantStore

from tests.fleet.api.calling import client

pytestmark = pytest.mark.anyio


@pytest.fixture
async def operator(fleet: Fleet) -> AsyncIterator[httpx2.AsyncClient]:
    """Who has the service's key, with a tenant `one`."""
    async with client(fleet, ApiKeys(TenantStore(fleet.database), SharedKey("right")), Authorization="Bearer right") as http:
        assert (await http.post("/v1/tenants", json={"id": "one"})).status_code == 201
        yield http


async def key(operator: httpx2.AsyncClient, tenant: str, *scopes: Scope, **more: Any) -> dict[str, str]:
    """Headers with a new key of a tenant."""
    body = {"name": "ci"} | ({"scopes": list(scopes)} if scopes else {}) | more
    answer = await operator.post("/v1/keys", params={"tenant": tenant}, json=body)
    assert answer.status_code == 201
    return {"Authorization": f"Bearer {answer.json()['key']}"}


async def test_a_tenant_is_made_listed_and_removed(operator: httpx2.AsyncClient) -> None:
    assert [one["id"] for one in (await operator.get("/v1/tenants")).json()["tenants"]] == ["default", "one"]
    assert (await operator.get("/v1/tenants/one")).json()["id"] == "one"
    assert (await operator.delete("/v1/tenants/one")).status_code == 200
    assert (await operator.get("/v1/tenants/one")).status_code == 404


async def test_a_key_is_shown_once_and_has_the_least_unless_told(operator: httpx2.AsyncClient) -> None:
    mine = await key(operator, "one")
    listed = (await operator.get("/v1/keys", params={"tenant": "one"})).json()["keys"]
    assert [one["scopes"] for one in listed] == [["sandboxes:read", "sandboxes:use", "sandboxes:write"]]
    assert mine["Authorization"].rpartition("_")[2] not in str(listed)
    assert (await operator.get("/v1/sandboxes", headers=mine)).status_code == 200
    for path in ("/v1/keys", "/v1/audit", "/v1/tenants", "/v1/doctor"):
        assert (await operator.get(path, headers=mine)).status_code == 403
    assert (await operator.delete(f"/v1/keys/{listed[0]['id']}", params={"tenant": "one"})).json()["revoked_at"]
    assert (await operator.get("/v1/sandboxes", headers=mine)).status_code == 401


async def test_a_tenants_admin_makes_keys_of_it_that_can_do_no_more(operator: httpx2.AsyncClient) -> None:
    admin = await key(operator, "one", Scope.ADMIN, Scope.READ)
    made = await operator.post("/v1/keys", json={"name": "x", "scopes": ["sandboxes:read"]}, headers=admin)
    assert made.json()["made"]["tenant"] == "one"
    for scopes in (["operate"], ["sandboxes:write", "sandboxes:read"], None):
        body = {"name": "x"} | ({"scopes": scopes} if scopes else {})
        assert (await operator.post("/v1/keys", json=body, headers=admin)).status_code == 403


async def test_another_tenant_is_the_operators_to_name(operator: httpx2.AsyncClient) -> None:
    admin = await key(operator, "one", *(scope for scope in Scope if scope != Scope.OPERATE))
    theirs = (await operator.post("/v1/keys", json={"name": "x"})).json()["made"]["id"]
    for verb, path, body in (
        ("GET", "/v1/keys", None),
        ("POST", "/v1/keys", {"name": "x"}),
        ("DELETE", f"/v1/keys/{theirs}", None),
        ("GET", "/v1/audit", None),
    ):
        for tenant in ("default", ""):
            answer = await operator.request(verb, path, params={"tenant": tenant}, json=body, headers=admin)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert (await operator.delete(f"/v1/keys/{theirs}", headers=admin)).status_code == 404


async def test_the_record_goes_on_behind_its_cursor(operator: httpx2.AsyncClient) -> None:
    for number in range(4):
        await operator.delete(f"/v1/sandboxes/s{number}")
    first = (await operator.get("/v1/audit", params={"limit": 3})).json()
    second = (await operator.get("/v1/audit", params={"limit": 3, "cursor": first["next_cursor"]})).json()
    calls = [entry["call"] for entry in first["entries"] + second["entries"]]
    assert calls == [*(f"DELETE /v1/sandboxes/s{number}" for number in (3, 2, 1, 0)), "POST /v1/tenants"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("verb", "path", "body", "status"),
    [
        ("POST", "/v1/tenants", {"id": "A b"}, 422),
        ("POST", "/v1/tenants", {"id": "one"}, 409),
        ("POST", "/v1/tenants", {}, 422),
        ("DELETE", "/v1/tenants/none", None, 404),
        ("DELETE", "/v1/tenants/default", None, 409),
        ("POST", "/v1/keys", {"name": "a\nb"}, 422),
        ("POST", "/v1/keys", {"name": "a", "scopes": ["all"]}, 422),
        ("POST", "/v1/keys", {"name": "a", "scopes": []}, 422),
        ("POST", "/v1/keys", {"name": "a", "seconds": 1}, 422),
        ("POST", "/v1/keys?tenant=none", {"name": "a"}, 404),
        ("DELETE", "/v1/keys/none", None, 404),
        ("GET", "/v1/keys?limit=1001", None, 422),
        ("GET", "/v1/audit?cursor=-1", None, 422),
    ],
)
async def test_bad_input_is_answered_with_its_reason(operator: httpx2.AsyncClient, verb: str, path: str, body: Any, status: int) -> None:
    answer = await operator.request(verb, path, json=body)
    assert (answer.status_code, set(answer.json()["error"])) == (status, {"code", "message"})


async def test_a_key_with_an_end_says_when(operator: httpx2.AsyncClient) -> None:
    await key(operator, "one", seconds=3600)
    [listed] = (await operator.get("/v1/keys", params={"tenant": "one"})).json()["keys"]
    assert listed["expires_at"] > listed["created_at"]
