"""Waiting for what becomes true by itself: how long, and what a wait that was in vain says."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests import patience
from tests.patience import eventually, until

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a wait end after two looks."""
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(patience, "LOOKS", 2)


@pytest.fixture
def numbers() -> Iterator[int]:
    """0, 1, 2 and so on."""
    return count()


def said(wait: Callable[[], object]) -> str:
    """What a wait that is in vain says."""
    with pytest.raises(AssertionError) as failed:
        wait()
    return str(failed.value)


def test_it_gives_what_was_seen_once_that_is_true(numbers: Iterator[int]) -> None:
    assert until(lambda: next(numbers)) == 1


def test_it_gives_what_was_seen_once_that_is_as_wanted(numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LOOKS", 6)
    assert until(lambda: next(numbers), lambda number: number > 4) == 5


def test_it_ends_after_both_its_time_and_its_looks(numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LOOKS", 6)
    assert "still 5 after 0 s" in said(lambda: until(lambda: next(numbers), lambda number: number < 0))
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.2)
    said(lambda: until(lambda: next(numbers), lambda number: number < 0))
    assert next(numbers) > 12


def test_pauses_begin_short_and_grow_to_a_tenth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    times = count(0, 0.5)
    monkeypatch.setattr(patience, "monotonic", lambda: next(times))
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 3.0)
    assert list(patience._pauses()) == [0.025, 0.05, 0.075, 0.1, 0.1]
    monkeypatch.setattr(patience, "monotonic", lambda: 1.0)
    assert next(patience._pauses()) == 0.005


def test_of_a_comparison_both_sides_are_said() -> None:
    state = "starting"
    assert "assert 'starting' == 'ready'" in said(lambda: until(lambda: state == "ready"))


def test_of_what_is_called_the_result_is_said() -> None:
    found = {"bash": ["one", "two"]}
    assert "assert 'three' in ['one', 'two']" in said(lambda: until(lambda: "three" in found.get("bash", ())))


def test_of_a_lambda_over_several_lines_both_sides_are_said() -> None:
    first, second = {"ü": 1}, {"ü": 2}
    wait = lambda: until(  # noqa: E731 # as in a test
        lambda: (
            first["ü"] == 1 and second["ü"] == 3  # the one that fails
        )
    )
    assert "2 == 3" in said(wait)


def test_a_default_of_a_lambda_is_known() -> None:
    assert "assert 1 == 2" in said(lambda: until(lambda one=1: one == 2))  # type: ignore[misc] # as in a loop


def test_of_what_is_wanted_of_a_value_both_are_said() -> None:
    message = said(lambda: until(lambda: {"state": "starting"}, lambda seen: seen["state"] == "ready"))
    assert "still {'state': 'starting'}" in message
    assert "assert 'starting' == 'ready'" in message


def test_a_function_is_named() -> None:
    def is_ready() -> bool:
        return False

    assert said(lambda: until(is_ready)).endswith("still False after 0 s\nby test_a_function_is_named.<locals>.is_ready")


def test_what_holds_by_the_time_of_the_message_is_told_so(numbers: Iterator[int]) -> None:
    assert "and then it held: next(numbers) == 2" in said(lambda: until(lambda: next(numbers) == 2))


def test_what_raises_by_the_time_of_the_message_is_told_so() -> None:
    values = [1, 1]
    assert "and then IndexError" in said(lambda: until(lambda: values.pop() == 2))


def test_more_is_told_where_it_is_given() -> None:
    assert said(lambda: until(lambda: False, told=lambda: "its log")).endswith("\nits log")


def test_an_exception_of_the_look_goes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        until(lambda: 1 // 0)


@pytest.mark.anyio
async def test_a_value_and_an_awaitable_are_waited_for(numbers: Iterator[int]) -> None:
    async def ask() -> int:
        return next(numbers)

    assert await eventually(ask) == 1
    assert await eventually(lambda: next(numbers)) == 2
    assert await eventually(ask, lambda number: number == 4) == 4


@pytest.mark.anyio
async def test_in_vain_it_says_what_an_awaitable_gave_and_of_a_lambda_both_sides() -> None:
    async def ask() -> str:
        return ""

    with pytest.raises(AssertionError, match=r"^still '' after 0 s$"):
        await eventually(lambda: ask())
    with pytest.raises(AssertionError, match="assert '' == 'ready'"):
        await eventually(ask, lambda state: state == "ready")
    state = "starting"
    with pytest.raises(AssertionError, match="assert 'starting' == 'ready'"):
        await eventually(lambda: state == "ready")


@pytest.mark.anyio
async def test_an_exception_of_an_awaitable_goes_through() -> None:
    async def ask() -> int:
        return 1 // 0

    with pytest.raises(ZeroDivisionError):
        await eventually(ask)
