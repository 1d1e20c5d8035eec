"""The pacer: no more than the rate, except for a burst."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.transport.pacer import BURST_BYTES, Pacer


def test_nothing_waits_before_a_rate_is_known() -> None:
    pacer = Pacer()
    pacer.spend(10 << 20, 0.0)
    assert pacer.wait(0.0) == 0.0


@settings(deadline=None, database=None)
@given(st.floats(1e4, 1e8), st.lists(st.integers(1, 60_000), min_size=1, max_size=50))
def test_what_leaves_keeps_to_the_rate(rate: float, sizes: list[int]) -> None:
    pacer, now, left = Pacer(), 0.0, 0
    pacer.rate = rate
    for size in sizes:
        now += pacer.wait(now)
        assert left <= rate * now + BURST_BYTES + 1
        pacer.spend(size, now)
        left += size
    assert pacer.wait(now + left / rate) == 0.0
