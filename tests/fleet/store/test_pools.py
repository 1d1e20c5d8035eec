"""Sandboxes that wait in pools, in the store."""

import asyncio

import pytest
from tandem_fleet.errors import ConflictError
from tandem_fleet.sandboxes import Desired, Spec, State, new_id
from tandem_fleet.store.database import Database
from tandem_fleet.store.pools import PoolStore
from tandem_fleet.store.preparations import PreparationStore
from tandem_fleet.store.sandboxes import SandboxStore

pytestmark = pytest.mark.anyio
SPEC = Spec(image="image")


async def waiting(database: Database, number: int) -> list[str]:
    """So many that wait, ready."""
    found = []
    for _ in range(number):
        member = await PoolStore(database).add(new_id(), "pool", SPEC)
        await SandboxStore(database).change(member.id, state=State.READY)
        found.append(member.id)
    return found


async def test_of_many_claims_each_gets_another_and_the_rest_none(database: Database) -> None:
    members = await waiting(database, 5)
    store = SandboxStore(database)
    claimed = await asyncio.gather(*(store.claim("pool", f"n{number}", "one", SPEC) for number in range(8)))
    got = [one.id for one in claimed if one]
    assert sorted(got) == sorted(members)
    assert await PoolStore(database).members() == []


async def test_one_is_claimed_or_retired_and_never_both(database: Database) -> None:
    for _ in range(10):
        (member,) = await waiting(database, 1)
        claimed, retired = await asyncio.gather(SandboxStore(database).claim("pool", "", "one", SPEC), PoolStore(database).retire(member))
        assert (claimed is None) == retired
        assert ((await SandboxStore(database).get(member)).desired == Desired.DELETED) == retired


async def test_what_is_not_ready_or_waits_elsewhere_is_not_claimed(database: Database) -> None:
    store, pools = SandboxStore(database), PoolStore(database)
    await pools.add(new_id(), "pool", SPEC)
    other = await pools.add(new_id(), "other", SPEC)
    await store.change(other.id, state=State.READY)
    leaving = await pools.add(new_id(), "pool", SPEC)
    await store.change(leaving.id, state=State.READY, desired=Desired.DELETED)
    assert await store.claim("pool", "", "one", SPEC) is None
    assert {member.pool for member in await pools.members()} == {"pool", "other"}


async def test_a_claim_that_is_refused_leaves_the_one_that_waits(database: Database) -> None:
    (member,) = await waiting(database, 1)
    store = SandboxStore(database)
    await store.create(new_id(), "mine", "one", SPEC)
    with pytest.raises(ConflictError):
        await store.claim("pool", "mine", "one", SPEC, work={"tenant": "one"})
    assert [one.sandbox for one in await PoolStore(database).members()] == [member]
    assert await PreparationStore(database).of(member) is None
    claimed = await store.claim("pool", "mine", "two", SPEC, work={"tenant": "two"})
    assert claimed
    assert claimed.id == member
    assert await PreparationStore(database).of(member) == {"tenant": "two"}


async def test_what_was_waiting_for_one_that_is_deleted_is_forgotten(database: Database) -> None:
    store = SandboxStore(database)
    one = await store.create(new_id(), "mine", "one", SPEC, work={"secrets": {"A": {"value": "secret"}}})
    await store.change(one.id, state=State.DELETED)
    assert await PreparationStore(database).of(one.id) is None
