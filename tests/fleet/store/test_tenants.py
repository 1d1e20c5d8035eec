"""Tenants and keys in the store."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.quotas import Quota
from tandem_fleet.sandboxes import Spec, State, new_id
from tandem_fleet.store import tenants as module
from tandem_fleet.store.database import Database
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.tables import api_keys
from tandem_fleet.store.tenants import TenantStore
from tandem_fleet.tenants import Secret

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(database: Database) -> TenantStore:
    return TenantStore(database)


async def test_a_tenant_is_there_until_it_is_deleted_and_its_name_is_never_anothers(store: TenantStore) -> None:
    made = await store.create("one")
    assert [one.id for one in await store.all()] == ["default", "one"]
    assert await store.get("one") == made
    with pytest.raises(ConflictError):
        await store.create("one")
    await store.delete("one")
    assert [one.id for one in await store.all()] == ["default"]
    with pytest.raises(ConflictError, match="there was one"):
        await store.create("one")
    for gone in (store.get("one"), store.delete("one"), store.create_key("one", "n", [], None)):
        with pytest.raises(NotFoundError):
            await gone


async def test_a_tenant_with_sandboxes_and_the_operators_stay(store: TenantStore) -> None:
    await store.create("one")
    sandboxes = SandboxStore(store.database)
    made = await sandboxes.create(new_id(), "work", "one", Spec())
    with pytest.raises(ConflictError, match="has 1 sandboxes"):
        await store.delete("one")
    with pytest.raises(ConflictError, match="operator's own"):
        await store.delete("default")
    await sandboxes.change(made.id, state=State.DELETED)
    await store.delete("one")


async def test_a_key_is_known_by_its_secret_alone_which_nobody_keeps(store: TenantStore) -> None:
    made, secret = await store.create_key("default", "ci", ["sandboxes:read"], None)
    assert await store.known(secret) == (made, Quota())
    assert await store.known(Secret(secret.id, Secret.new().secret)) is None
    assert await store.known(Secret.new()) is None
    async with store.database.reading() as connection:
        rows = (await connection.execute(select(api_keys))).all()
    assert secret.secret not in str(rows)


async def test_a_key_that_is_revoked_expired_or_of_a_deleted_tenant_opens_nothing(store: TenantStore) -> None:
    await store.create("one")
    revoked, first = await store.create_key("one", "a", [], None)
    _, second = await store.create_key("one", "b", [], datetime.now(UTC) - timedelta(seconds=1))
    _, third = await store.create_key("one", "c", [], None)
    again = await store.revoke_key("one", revoked.id)
    assert (await store.revoke_key("one", revoked.id)).revoked_at == again.revoked_at
    assert [await store.known(first), await store.known(second)] == [None, None]
    assert await store.known(third)
    await store.delete("one")
    assert await store.known(third) is None


async def test_a_key_of_another_tenant_is_neither_listed_nor_revoked(store: TenantStore) -> None:
    await store.create("one")
    made, secret = await store.create_key("default", "a", [], None)
    assert await store.keys("one") == []
    with pytest.raises(NotFoundError):
        await store.revoke_key("one", made.id)
    assert await store.known(secret)


async def test_the_last_use_is_written_down_once_a_minute(store: TenantStore) -> None:
    made, secret = await store.create_key("default", "a", [], None)
    await store.known(secret)
    [first] = await store.keys("default")
    await store.known(secret)
    assert await store.keys("default") == [first]
    earlier = datetime.now(UTC) - timedelta(minutes=2)
    async with store.database.writing() as connection:
        await connection.execute(update(api_keys).where(api_keys.c.id == made.id).values(used_at=earlier))
    await store.known(secret)
    [again] = await store.keys("default")
    assert first.used_at
    assert again.used_at
    assert again.used_at >= first.used_at


async def test_keys_come_by_pages_and_there_are_not_without_end(store: TenantStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEYS", 3)
    made = sorted([(await store.create_key("default", str(number), [], None))[0].id for number in range(3)])
    with pytest.raises(ConflictError, match="revoke one"):
        await store.create_key("default", "more", [], None)
    first = await store.keys("default", limit=2)
    assert [one.id for one in first + await store.keys("default", after=first[-1].id, limit=2)] == made
    await store.revoke_key("default", made[0])
    await store.create_key("default", "more", [], None)
