"""Names of lanes."""

import pytest

from sandbox_server.drivers.browser.lane_names import is_name, only_lane


@pytest.mark.parametrize("name", ["a", "ann", "agent-2", "0_x", "a" * 63])
def test_small_letters_digits_and_two_marks_are_names(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "main", "Ann", "-a", "a b", "a/b", "ä", "a" * 64, "a\n"])
def test_everything_else_is_none(name: str) -> None:
    assert not is_name(name)


def test_one_name_without_wildcards_is_the_one_lane() -> None:
    assert only_lane(("ann",)) == "ann"
    assert [only_lane(patterns) for patterns in (None, (), ("ann", "bob"), ("*",), ("ann-?",), ("main",))] == [None] * 6
