"""Snapshots in the store."""

import pytest
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.sandboxes import Spec, new_id
from tandem_fleet.store.database import Database
from tandem_fleet.store.snapshots import SnapshotState, SnapshotStore, made_now

pytestmark = pytest.mark.anyio


async def test_one_is_kept_changed_and_removed(database: Database) -> None:
    store = SnapshotStore(database)
    made = await store.add(made_now(new_id(), "one", "a", "origin", Spec(memory_mb=512), temporary=False), most=1)
    assert await store.get(made.id, "one") == made
    await store.change(made.id, state=SnapshotState.FAILED, reason="x" * 5000)
    assert len((await store.get(made.id)).reason) == 1024
    with pytest.raises(NotFoundError):
        await store.get(made.id, "two")
    with pytest.raises(ConflictError):
        await store.add(made_now(new_id(), "one", "b", "origin", Spec(), temporary=False), most=1)
    await store.remove(made.id)
    assert await store.page(None, 0, 10) == []


async def test_a_list_has_what_is_wanted(database: Database) -> None:
    store = SnapshotStore(database)
    for label, temporary in (("a", False), ("b", True), ("c", False)):
        await store.add(made_now(new_id(), "one", label, "origin", Spec(), temporary=temporary), most=9)
    first = await store.page("one", 0, 1, temporary=False)
    rest = await store.page("one", first[-1][0], 10, temporary=False)
    assert [one.label for _, one in first + rest] == ["a", "c"]
    assert [one.label for _, one in await store.page(None, 0, 10, state=SnapshotState.MAKING, temporary=True)] == ["b"]


async def test_a_name_is_an_id_and_else_the_newest_label_of_one_that_is_made(database: Database) -> None:
    store = SnapshotStore(database)
    made = []
    for label, tenant, temporary in (("a", "one", False), ("a", "one", False), ("a", "two", False), ("a", "one", True), ("", "one", False)):
        made.append(await store.add(made_now(new_id(), tenant, label, "origin", Spec(), temporary=temporary), most=9))
        await store.change(made[-1].id, state=SnapshotState.READY)
    made.append(await store.add(made_now(new_id(), "one", made[0].id, "origin", Spec(), temporary=False), most=9))
    for name, wanted in (("a", made[1]), (made[0].id, made[0]), (made[2].id, None), (made[3].id, None), (made[5].id, None), ("", None)):
        found = await store.named("one", name)
        assert (found and found.id) == (wanted and wanted.id)
