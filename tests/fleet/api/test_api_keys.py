"""Callers who send an API key."""

import pytest
from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.authorization import Caller, Scope, SharedKey
from tandem_fleet.errors import UnauthorizedError
from tandem_fleet.store.database import Database
from tandem_fleet.store.tenants import TenantStore

pytestmark = pytest.mark.anyio


async def test_a_key_is_its_tenants_and_the_services_own_is_the_operators(database: Database) -> None:
    store = TenantStore(database)
    await store.create("one")
    made, secret = await store.create_key("one", "ci", [Scope.READ, "a scope of another version"], None)
    known = ApiKeys(store, SharedKey("right"))
    assert await known.caller(str(secret)) == Caller("one", f"ci ({made.id})", frozenset({Scope.READ}), 6000)
    assert await known.caller("right") == Caller()
    await store.revoke_key("one", made.id)
    for sent in (str(secret), f"{secret}x", "tnd_", "", "wrong"):
        with pytest.raises(UnauthorizedError):
            await known.caller(sent)
