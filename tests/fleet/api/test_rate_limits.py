"""How often a key may call."""

from types import SimpleNamespace

import pytest
from tandem_fleet.api import rate_limits
from tandem_fleet.api.api_keys import ApiKeys
from tandem_fleet.api.authorization import Scope, SharedKey
from tandem_fleet.api.rate_limits import RateLimits
from tandem_fleet.errors import TooManyRequestsError
from tandem_fleet.fleet import Fleet
from tandem_fleet.quotas import Quota
from tandem_fleet.store.tenants import TenantStore

from tests.fleet.api.calling import client

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still until a test sets it."""
    now = [0.0]
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def allowed(limits: RateLimits, who: str, per_minute: int) -> int:
    """How many calls pass at once."""
    for number in range(10_000):
        try:
            limits.take(who, per_minute)
        except TooManyRequestsError:
            return number
    return 10_000


async def test_a_burst_passes_and_then_as_many_as_the_rate_says(clock: list[float]) -> None:
    limits = RateLimits()
    assert allowed(limits, "one", 600) == 100
    assert allowed(limits, "two", 600) == 100
    clock[0] = 1
    assert allowed(limits, "one", 600) == 10
    clock[0] = 10_000
    assert allowed(limits, "one", 600) == 100
    assert allowed(limits, "slow", 1) == 1


async def test_who_is_refused_is_told_when_to_call_again_and_passes_then(clock: list[float]) -> None:
    limits = RateLimits()
    allowed(limits, "one", 6)
    with pytest.raises(TooManyRequestsError) as refused:
        limits.take("one", 6)
    assert refused.value.retry_after == 10
    clock[0] = 10
    limits.take("one", 6)


async def test_buckets_are_not_kept_without_end(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MOST", 3)
    limits = RateLimits()
    for number in range(100):
        clock[0] += 20
        limits.take(str(number), 60)
    assert len(limits._buckets) <= 3


async def test_a_key_that_calls_too_often_is_answered_429_and_no_other_is(fleet: Fleet) -> None:
    store = TenantStore(fleet.database)
    await store.create("one")
    await store.limit("one", Quota(requests_per_minute=12))
    keys = [(await store.create_key("one", "ci", [Scope.READ], None))[1] for _ in range(2)]
    async with client(fleet, ApiKeys(store, SharedKey("right"))) as http:
        answers = [await http.get("/v1/sandboxes", headers={"Authorization": f"Bearer {keys[0]}"}) for _ in range(8)]
        assert answers[0].status_code == 200
        refused = answers[-1]
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 5
        for other in (str(keys[1]), "right"):
            assert (await http.get("/v1/sandboxes", headers={"Authorization": f"Bearer {other}"})).status_code == 200
