"""Who calls, and what they may do."""

from dataclasses import dataclass

import pytest
from tandem_fleet.api.authorization import Caller, Scope, SharedKey
from tandem_fleet.errors import UnauthorizedError
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client

pytestmark = pytest.mark.anyio


@dataclass
class Known:
    """Knows one caller."""

    one: Caller

    async def caller(self, bearer: str) -> Caller:
        """The one."""
        return self.one


@pytest.mark.parametrize("key", ["", "right"])
@pytest.mark.parametrize("sent", ["", "wrong", "right ", "right\u00e9"])
async def test_a_wrong_key_is_nobodys_and_an_empty_one_opens_nothing(key: str, sent: str) -> None:
    with pytest.raises(UnauthorizedError):
        await SharedKey(key).caller(sent)


async def test_who_is_known_may_do_what_the_scopes_say_and_no_more(fleet: Fleet) -> None:
    async with client(fleet, Known(Caller(scopes=frozenset({Scope.READ})))) as reader:
        assert (await reader.get("/v1/sandboxes")).status_code == 200
        for answer in (await reader.post("/v1/sandboxes", json={}), await reader.get("/v1/doctor")):
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


async def test_the_tenant_is_the_callers(fleet: Fleet) -> None:
    async with client(fleet, Known(Caller("one"))) as one, client(fleet, Known(Caller("two"))) as two:
        made = (await one.post("/v1/sandboxes", json={"name": "work"})).json()
        assert made["tenant"] == "one"
        assert (await two.get("/v1/sandboxes")).json()["sandboxes"] == []
        assert (await two.get(f"/v1/sandboxes/{made['id']}")).status_code == 404
