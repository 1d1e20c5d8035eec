"""Pending areas: each once, and a bounded number of them."""

from sandbox_server.stream.plan.pending_areas import MAX_AREAS, PendingAreas


def test_many_areas_become_the_one_around_them() -> None:
    areas = PendingAreas()
    areas.add([(number * 10, number, 5, 5) for number in range(MAX_AREAS + 1)])
    assert areas.take_all() == [(0, 0, MAX_AREAS * 10 + 5, MAX_AREAS + 5)]


def test_an_area_that_is_added_twice_is_taken_once() -> None:
    areas = PendingAreas()
    areas.add([(1, 2, 3, 4)])
    areas.add([(1, 2, 3, 4), (5, 6, 7, 8)])
    assert areas.take_all() == [(1, 2, 3, 4), (5, 6, 7, 8)]
    assert areas.take_all() == []
