"""Operations on templates."""

import httpx2
import pytest
from tandem_fleet.api.authorization import Caller, Scope
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client
from tests.fleet.api.test_authorization import Known

pytestmark = pytest.mark.anyio


async def test_a_template_is_kept_used_listed_and_removed(http: httpx2.AsyncClient) -> None:
    kept = await http.put("/v1/templates/small", json={"memory_mb": 512, "pool": {"min": 0, "max": 2}})
    assert (kept.status_code, kept.json()["version"], kept.json()["content"]["image"]) == (200, 1, "image")
    made = await http.post("/v1/sandboxes", json={"template": "small"})
    assert (made.json()["spec"]["memory_mb"], made.json()["spec"]["template"]) == (512, "small@1")
    again = await http.put("/v1/templates/small", json={"memory_mb": 1024})
    assert again.json()["version"] == 2
    assert [one["version"] for one in (await http.get("/v1/templates")).json()["templates"]] == [2]
    assert (await http.get("/v1/templates/small@1")).json()["content"]["memory_mb"] == 512
    assert (await http.delete("/v1/templates/small")).status_code == 204
    for path in ("/v1/templates/small", "/v1/templates/small@1"):
        assert (await http.get(path)).status_code == 404
    assert (await http.post("/v1/sandboxes", json={"template": "small"})).status_code == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("A", {}),
        ("a", {"privileged": True}),
        ("a", {"pool": {"min": 2, "max": 1}}),
        ("a", {"environment": {"AUTH": "off"}}),
        ("a", {"template": "b"}),
        ("a", []),
    ],
)
async def test_what_is_no_template_is_refused(http: httpx2.AsyncClient, path: str, body: object) -> None:
    assert (await http.put(f"/v1/templates/{path}", json=body)).status_code == 422


async def test_a_shared_one_is_the_operators_to_keep_and_everybodys_to_use(fleet: Fleet) -> None:
    writer = Caller("one", scopes=frozenset({Scope.READ, Scope.WRITE}))
    async with client(fleet) as operator, client(fleet, Known(writer)) as one:
        assert (await one.put("/v1/templates/base?shared=true", json={})).status_code == 403
        assert (await operator.put("/v1/templates/base?shared=true", json={"memory_mb": 512})).json()["shared"]
        assert (await one.post("/v1/sandboxes", json={"template": "base"})).json()["spec"]["memory_mb"] == 512
        assert (await one.delete("/v1/templates/base?shared=true")).status_code == 403
        assert (await one.delete("/v1/templates/base")).status_code == 404
