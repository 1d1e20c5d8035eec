"""How many calls a caller may make."""

import pytest

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.rate_limit import MAX_CALLERS, RateLimit


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_caller_has_a_burst_and_then_a_rate() -> None:
    clock = Clock()
    limit = RateLimit("tokens", 3, 1.0, clock)
    for _ in range(3):
        limit.take("ann")
    with pytest.raises(ResourceExhausted) as refused:
        limit.take("ann")
    assert refused.value.retry_after == 1.0
    limit.take("ben")
    clock.seconds = 1.0
    limit.take("ann")
    with pytest.raises(ResourceExhausted):
        limit.take("ann")


def test_many_callers_together_have_a_bound_too() -> None:
    limit = RateLimit("tokens", 3, 1.0, Clock())
    for number in range(12):
        limit.take(f"caller-{number}")
    with pytest.raises(ResourceExhausted):
        limit.take("one more")


def test_callers_are_forgotten_at_the_bound() -> None:
    clock = Clock()
    limit = RateLimit("tokens", 1, 1.0, clock)
    for number in range(MAX_CALLERS + 10):
        clock.seconds += 1
        limit.take(f"caller-{number}")
    assert len(limit._buckets) == MAX_CALLERS
