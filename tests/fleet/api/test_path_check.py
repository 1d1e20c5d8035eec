"""Paths and queries that no store could hold."""

import httpx2
import pytest
from tandem_fleet.fleet import Fleet

from tests.fleet.test_fleet import ready

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("verb", "path"),
    [("GET", "/v1/sandboxes/%00"), ("POST", "/v1/sandboxes/work%00/stop"), ("GET", "/v1/keys?tenant=a%00"), ("GET", "/v1/keys?x%00=a")],
)
async def test_a_nul_is_refused(http: httpx2.AsyncClient, fleet: Fleet, verb: str, path: str) -> None:
    await ready(fleet)
    answer = await http.request(verb, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


async def test_what_is_no_nul_passes(http: httpx2.AsyncClient) -> None:
    for path in ("/v1/sandboxes/%2500", "/v1/sandboxes/%01", "/v1/sandboxes/%ED%A0%80", "/v1/sandboxes/0?x=%2500"):
        assert (await http.get(path)).status_code == 404
