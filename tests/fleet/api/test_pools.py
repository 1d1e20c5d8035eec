"""Operations on warm pools."""

import pytest
from tandem_fleet.api.authorization import Caller
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client
from tests.fleet.api.test_authorization import Known
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_a_tenant_sees_its_own_pools_and_shared_ones(fleet: Fleet) -> None:
    async with client(fleet, Known(Caller("one"))) as one, client(fleet, Known(Caller("two"))) as two:
        await one.put("/v1/templates/mine", json={"pool": {"min": 1, "max": 3}})
        await one.put("/v1/templates/all?shared=true", json={"pool": {"min": 0, "max": 3}})

        async def both() -> bool:
            return len((await one.get("/v1/pools")).json()["pools"]) == 2

        await eventually(both)
        assert [pool["template"] for pool in (await two.get("/v1/pools")).json()["pools"]] == ["all@1"]
        made = await one.post(
            "/v1/sandboxes",
            json={"template": "mine", "secrets": {"A": {"value": "x", "fill": ["https://example.com"]}}, "egress": {}},
            params={"wait": 60},
        )
        assert (made.json()["state"], made.json()["tenant"]) == ("ready", "one")
    refused: list[dict[str, object]] = [{"../x": {}}, {"A/B": {}}, {"A": 1}]
    for secrets in refused:
        async with client(fleet) as operator:
            assert (await operator.post("/v1/sandboxes", json={"secrets": secrets})).status_code == 422
