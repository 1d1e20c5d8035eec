"""What a script gives is bounded before anything is made of it."""

from typing import Any

import pytest

from sandbox_server.core.errors import InvalidArgument, TooLarge
from sandbox_server.drivers.browser.script_results import MAX_DEPTH, MAX_VALUES, check


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_what_json_holds_is_let_through() -> None:
    check({"a": [1, None, "x" * 1000, {"b": nested(MAX_DEPTH - 10)}]})


def test_one_list_in_many_places_counts_as_often_as_it_would_be_written() -> None:
    wide: Any = [1]
    for _ in range(60):
        wide = [wide, wide]
    with pytest.raises(TooLarge):
        check(wide)
    with pytest.raises(TooLarge):
        check([0] * MAX_VALUES)


def test_what_holds_itself_or_is_deep_is_refused() -> None:
    itself: list[Any] = []
    itself.append(itself)
    for deep in (itself, nested(MAX_DEPTH + 10), nested(100_000)):
        with pytest.raises(InvalidArgument, match="deep, or hold themselves"):
            check(deep)


@pytest.mark.parametrize("value", [ValueError("x"), {"\ud800": 1}])
def test_what_json_has_no_form_for_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgument):
        check([value])
