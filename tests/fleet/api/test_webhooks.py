"""Operations on webhooks."""

import pytest
from tandem_fleet.api.authorization import Caller, Scope
from tandem_fleet.fleet import Fleet

from tests.fleet.answering import Answering
from tests.fleet.api.calling import client
from tests.fleet.api.test_authorization import Known
from tests.fleet.test_webhooks import fleet, make_fleet

pytestmark = pytest.mark.anyio
__all__ = ["fleet", "make_fleet"]


async def test_one_is_added_listed_and_removed_and_its_secret_is_shown_once(fleet: Fleet, answers: Answering) -> None:
    async with client(fleet) as http:
        made = await http.post("/v1/webhooks", json={"url": f"{answers.address}/hook", "types": ["sandbox.ready"]})
        assert made.status_code == 201
        assert made.json()["secret"].startswith("whsec_")
        listed = (await http.get("/v1/webhooks")).json()["webhooks"]
        assert [one["id"] for one in listed] == [made.json()["id"]]
        assert "secret" not in listed[0]
        path = f"/v1/webhooks/{made.json()['id']}"
        assert (await http.post(f"{path}/enable")).json()["disabled"] is False
        async with client(fleet, Known(Caller("other"))) as other:
            assert (await other.get("/v1/webhooks")).json()["webhooks"] == []
            assert (await other.delete(path)).status_code == 404
            assert (await other.post(f"{path}/enable")).status_code == 404
        assert (await http.delete(path)).status_code == 204
        for url in ("http://10.0.0.1/", "http://169.254.169.254/latest", "file:///etc/passwd"):
            assert (await http.post("/v1/webhooks", json={"url": url})).status_code == 422


async def test_it_needs_an_administrator(fleet: Fleet) -> None:
    async with client(fleet, Known(Caller(scopes=frozenset({Scope.READ, Scope.WRITE})))) as http:
        assert (await http.get("/v1/webhooks")).status_code == 403
