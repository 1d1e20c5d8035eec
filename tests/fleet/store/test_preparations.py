"""What is put into sandboxes before they are ready, in the store."""

import pytest
from tandem_fleet.sandboxes import Spec, new_id
from tandem_fleet.store.database import Database
from tandem_fleet.store.preparations import PreparationStore
from tandem_fleet.store.sandboxes import SandboxStore

pytestmark = pytest.mark.anyio


async def test_it_is_there_until_it_is_done(database: Database) -> None:
    store = PreparationStore(database)
    one = await SandboxStore(database).create(new_id(), "mine", "one", Spec(), work={"tenant": "one"})
    two = await SandboxStore(database).create(new_id(), "other", "one", Spec())
    assert (await store.of(one.id), await store.of(two.id)) == ({"tenant": "one"}, None)
    await store.done(one.id)
    assert await store.of(one.id) is None
