"""The protocol beside the fleet's own API."""

import httpx2
import pytest
from tandem_fleet.api.app import build
from tandem_fleet.e2b.service import E2B
from tandem_fleet.fleet import Fleet

from tests.fleet.e2b.conftest import KEY

pytestmark = pytest.mark.anyio


async def test_both_are_on_one_port(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/healthz")).status_code == 200
    assert (await http.get("/v1/sandboxes")).status_code == 401
    assert (await http.get("/v1/sandboxes", headers={"Authorization": f"Bearer {KEY}"})).json()["sandboxes"] == []
    assert (await http.get("/v2/sandboxes")).json() == []
    assert (await http.get("/health", headers={"E2b-Sandbox-Id": "none"})).status_code == 502
    assert (await http.get("/elsewhere")).status_code == 404


async def test_it_is_closed_once_and_the_fleet_goes_on(fleet: Fleet) -> None:
    async with E2B(fleet) as e2b:
        transport = httpx2.ASGITransport(app=e2b.over(build(fleet)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://fleet") as http:
            assert (await http.get("/v2/sandboxes")).status_code == 200
    assert await fleet.page("default", 0, 10, None) == []
