"""Whether a tenant may have one more, decided where it is given."""

import asyncio

import pytest
from tandem_fleet.errors import ForbiddenError, QuotaError
from tandem_fleet.quotas import Quota
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State, new_id
from tandem_fleet.store.database import Database
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.tenants import TenantStore

pytestmark = pytest.mark.anyio
SPEC = Spec(memory_mb=512, cpus=0.5)


@pytest.fixture
async def tenants(database: Database) -> TenantStore:
    """A tenant `one` that may have three sandboxes, and one processor."""
    store = TenantStore(database)
    await store.create("one")
    await store.limit("one", Quota(sandboxes=3, cpus=1))
    return store


async def make(database: Database, tenant: str = "one") -> Sandbox:
    """One more."""
    return await SandboxStore(database).create(new_id(), new_id(), tenant, SPEC)


async def test_of_many_creates_at_once_no_more_pass_than_there_is_room_for(database: Database, tenants: TenantStore) -> None:
    await tenants.limit("one", Quota(sandboxes=3))
    results = await asyncio.gather(*(make(database) for _ in range(12)), return_exceptions=True)
    assert [type(one) for one in results if not isinstance(one, Sandbox)] == [QuotaError] * 9
    assert (await tenants.held("one")).sandboxes == 3


async def test_of_many_starts_at_once_no_more_pass_than_there_is_room_for(database: Database, tenants: TenantStore) -> None:
    store = SandboxStore(database)
    made = []
    for _ in range(3):
        one = await make(database)
        made.append(await store.change(one.id, desired=Desired.STOPPED, state=State.STOPPED))
    results = await asyncio.gather(*(store.change(one.id, desired=Desired.RUNNING) for one in made), return_exceptions=True)
    assert sorted(isinstance(one, QuotaError) for one in results) == [False, False, True]
    held = await tenants.held("one")
    assert (held.sandboxes, held.cpus, held.memory_mb) == (3, 1.0, 1024)


async def test_what_is_stopped_paused_or_deleted_counts_as_far_as_it_takes_room(database: Database, tenants: TenantStore) -> None:
    store = SandboxStore(database)
    first, second = await make(database), await make(database)
    with pytest.raises(QuotaError, match="processors"):
        await make(database)
    await store.change(first.id, desired=Desired.PAUSED, state=State.PAUSED)
    with pytest.raises(QuotaError, match="processors"):
        await make(database)
    await store.change(first.id, desired=Desired.RUNNING)  # it had its room all the time
    await store.change(first.id, desired=Desired.STOPPED)
    await make(database)
    with pytest.raises(QuotaError, match="sandboxes"):
        await make(database)
    await store.change(second.id, state=State.DELETED, desired=Desired.DELETED)
    await make(database)


async def test_one_that_failed_counts_until_it_is_stopped(database: Database, tenants: TenantStore) -> None:
    store = SandboxStore(database)
    one, other = await make(database), await make(database)
    for each in (one, other):
        await store.change(each.id, state=State.FAILED)
    with pytest.raises(QuotaError):
        await make(database)
    await store.change(one.id, desired=Desired.RUNNING, state=State.CREATING)  # it does not count twice
    await store.change(other.id, desired=Desired.STOPPED, state=State.STOPPED)
    await make(database)
    with pytest.raises(QuotaError):
        await store.change(other.id, desired=Desired.RUNNING)


async def test_what_waits_in_a_pool_of_the_tenant_counts(database: Database, tenants: TenantStore) -> None:
    store = SandboxStore(database)
    waiting = [await store.create(new_id(), new_id(), "", SPEC, pool="one/work@1") for _ in range(2)]
    with pytest.raises(QuotaError):
        await store.create(new_id(), new_id(), "", SPEC, pool="one/work@1")
    with pytest.raises(QuotaError):
        await make(database)
    await store.create(new_id(), new_id(), "", SPEC, pool="/work@1")  # a shared pool is nobody's
    await store.change(waiting[0].id, state=State.READY)
    claimed = await store.claim("one/work@1", "mine", "one", SPEC)
    assert claimed is not None
    assert (await tenants.held("one")).sandboxes == 2


async def test_one_that_is_given_to_a_tenant_is_admitted(database: Database, tenants: TenantStore) -> None:
    store = SandboxStore(database)
    pooled = [await make(database, "pool") for _ in range(5)]
    await store.change(pooled[0].id, tenant="one")
    await store.change(pooled[1].id, tenant="one")
    with pytest.raises(QuotaError):
        await store.change(pooled[2].id, tenant="one")


async def test_a_tenant_without_limits_and_one_that_nobody_added_have_none(database: Database) -> None:
    for tenant in ("default", "nobody"):
        for _ in range(4):
            await make(database, tenant)


async def test_a_tenant_that_was_removed_makes_nothing(database: Database, tenants: TenantStore) -> None:
    await tenants.delete("one")
    with pytest.raises(ForbiddenError):
        await make(database)
