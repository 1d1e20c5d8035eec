"""Tables of which every row is checked by one test, which fails with all that is wrong."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest


def table_test(rows: Mapping[str, Any] | Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """What makes the check of a row a test of all of them, each named by its key, or by what it is.

    A row has the arguments of the check: the value of one, a tuple of several. It is for checks that are quick and change nothing: what
    uses a fixture, a process or an event loop is for `pytest.mark.parametrize`.
    """
    named = list(rows.items()) if isinstance(rows, Mapping) else [(f"{row!r:.120}", row) for row in rows]
    assert named, "a table has rows"

    def test_of(check: Callable[..., None]) -> Callable[[], None]:
        takes_several = len(inspect.signature(check).parameters) > 1

        @functools.wraps(check)
        def test() -> None:
            wrong = [
                (name, error) for name, row in named if (error := _error_of(functools.partial(check, *(row if takes_several else (row,)))))
            ]
            if wrong:
                told = "".join(f"\n{name}: {''.join(traceback.format_exception_only(error)).strip()}" for name, error in wrong)
                raise AssertionError(f"{len(wrong)} of {len(named)} rows are wrong:{told}") from wrong[0][1]

        test.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        return test

    return test_of


def _error_of(check: Callable[[], None]) -> BaseException | None:
    """With what a check fails."""
    try:
        check()
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
        return error
    return None
