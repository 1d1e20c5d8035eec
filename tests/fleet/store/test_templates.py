"""Templates in the store."""

import pytest
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.store.database import Database
from tandem_fleet.store.templates import KEPT_VERSIONS, TemplateStore

pytestmark = pytest.mark.anyio


async def test_old_versions_go_and_the_newest_stay(database: Database) -> None:
    store = TemplateStore(database)
    for number in range(KEPT_VERSIONS + 2):
        await store.put("default", "work", {"number": number}, most=10)
    assert (await store.find("default", "work", KEPT_VERSIONS + 2)).content == {"number": KEPT_VERSIONS + 1}
    assert (await store.find("default", "work", 3)).content == {"number": 2}
    with pytest.raises(NotFoundError, match="no template 'work@2'"):
        await store.find("default", "work", 2)


async def test_a_tenant_has_no_more_than_so_many(database: Database) -> None:
    store = TemplateStore(database)
    for name in ("a", "b"):
        await store.put("default", name, {}, most=2)
    with pytest.raises(ConflictError, match="there are 2 templates"):
        await store.put("default", "c", {}, most=2)
    assert (await store.put("default", "a", {"x": 1}, most=2)).version == 2
    assert (await store.put("other", "c", {}, most=2)).version == 1


async def test_a_list_goes_on_behind_a_number(database: Database) -> None:
    store = TemplateStore(database)
    for name in ("a", "b", "a", "c"):
        await store.put("default", name, {"n": len(name), "x": [one.version for _, one in await store.page("default", 0, 9)]}, most=9)
    first = await store.page("default", 0, 2)
    rest = await store.page("default", first[-1][0], 2)
    assert [(one.name, one.version) for _, one in first + rest] == [("b", 1), ("a", 2), ("c", 1)]
