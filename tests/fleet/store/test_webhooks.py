"""Webhooks in the store."""

from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.store.database import Database
from tandem_fleet.store.webhooks import Webhook, WebhookStore

pytestmark = pytest.mark.anyio
NOW = datetime(2030, 1, 1, tzinfo=UTC)
ONE = Webhook("one", "default", "https://example.com/", "whsec_", ("sandbox.ready",), 5, 0, None, None, "", NOW, disabled=False)


async def test_one_is_due_where_there_is_news_and_it_waits_for_no_time(database: Database) -> None:
    store = WebhookStore(database)
    assert await store.add(ONE, most=1) == await store.get("one")
    assert await store.due(5, NOW) == []
    assert [one.id for one in await store.due(6, NOW)] == ["one"]
    await store.failed("one", NOW, NOW + timedelta(seconds=5), "x" * 1000, disabled=False)
    assert await store.due(6, NOW) == []
    (failing,) = await store.due(6, NOW + timedelta(seconds=5))
    assert (failing.attempts, len(failing.reason), failing.failing_since) == (1, 300, NOW)
    await store.passed("one", 6)
    assert (await store.get("one")).failing_since is None
    await store.failed("one", NOW, NOW, "", disabled=True)
    assert await store.due(9, NOW + timedelta(days=1)) == []
    assert (await store.enable("default", "one", 9)).cursor == 9


async def test_a_tenant_has_no_more_than_so_many_and_touches_no_others(database: Database) -> None:
    store = WebhookStore(database)
    await store.add(ONE, most=1)
    with pytest.raises(ConflictError):
        await store.add(ONE, most=1)
    assert not await store.remove("other", "one")
    with pytest.raises(NotFoundError):
        await store.enable("other", "one", 9)
    assert await store.remove("default", "one")
    with pytest.raises(NotFoundError):
        await store.get("one")
