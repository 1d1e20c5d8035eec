"""What a tenant has and uses, as it is told."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.authorization import Scope, SharedKey
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.tenants import TenantStore

from tests.fleet.api.calling import client

pytestmark = pytest.mark.anyio


async def test_a_tenant_is_told_its_limits_and_is_held_to_them(fleet: Fleet) -> None:
    store = TenantStore(fleet.database)
    await store.create("one")
    key = (await store.create_key("one", "ci", [Scope.READ, Scope.WRITE], None))[1]
    async with client(fleet, ApiKeys(store, SharedKey("right")), Authorization="Bearer right") as http:
        assert (await http.put("/v1/tenants/one/quota", json={"sandboxes": 1, "memory_mb": 1024})).json()["quota"]["memory_mb"] == 1024
        wrongs: tuple[Any, ...] = ({"sandboxes": -1}, {"disk": 5}, [])
        for wrong in wrongs:
            assert (await http.put("/v1/tenants/one/quota", json=wrong)).status_code == 422
        assert (await http.put("/v1/tenants/none/quota", json={})).status_code == 404
        mine = {"Authorization": f"Bearer {key}"}
        assert (await http.put("/v1/tenants/one/quota", json={}, headers=mine)).status_code == 403
        refused = await http.post("/v1/sandboxes", json={"memory_mb": 2048}, headers=mine)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "quota_exceeded")
        assert (await http.post("/v1/sandboxes", json={"memory_mb": 512}, params={"wait": 60}, headers=mine)).json()["state"] == "ready"
        told = (await http.get("/v1/usage", headers=mine)).json()
        assert (told["tenant"], told["quota"]["sandboxes"], told["month"]) == ("one", 1, f"{datetime.now(UTC):%Y-%m}")
        assert (told["now"]["sandboxes"], told["now"]["memory_mb"]) == (1, 512)
        assert told["running_seconds"] > 0
        assert (await http.get("/v1/usage", params={"tenant": "default"}, headers=mine)).status_code == 403
        assert (await http.get("/v1/usage", params={"tenant": "one", "month": "2020-01"})).json()["running_seconds"] == 0
        for month in ("2020", "0000-01", "9999-12", "2020-13"):
            assert (await http.get("/v1/usage", params={"month": month})).status_code == 422
