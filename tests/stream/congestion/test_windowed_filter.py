"""The windowed filter: the extreme of the last seconds, and of no earlier ones."""

from sandbox_server.stream.congestion.windowed_filter import MEMORY_SECONDS, WindowedFilter


def test_the_smallest_of_the_last_seconds_is_kept() -> None:
    smallest = WindowedFilter(largest=False)
    for now, value in [(0.0, 5.0), (1.0, 3.0), (2.0, 4.0)]:
        smallest.add(value, now)
    assert smallest.value == 3.0
    smallest.add(9.0, 11.5)
    assert smallest.value == 4.0


def test_there_is_no_value_before_the_first_and_the_largest_is_forgotten_after_its_time() -> None:
    largest = WindowedFilter(largest=True)
    assert largest.value is None
    for now, value in [(0.0, 7.0), (1.0, 3.0)]:
        largest.add(value, now)
    assert largest.value == 7.0
    largest.add(1.0, MEMORY_SECONDS + 0.5)
    assert largest.value == 3.0
