from typing import Any

import pytest

from sandbox_server.cli.table import cell, rows_in, table


def test_columns_are_as_wide_as_their_widest_value() -> None:
    rows: list[dict[str, Any]] = [{"name": "a", "exit_code": 0}, {"name": "longer", "exit_code": None, "late": True}]

    assert table(rows, 80) == "NAME    EXIT CODE  LATE\na       0\nlonger             true"


def test_a_table_fits_the_terminal_and_nothing_is_cut() -> None:
    shown = table([{"port": 3000, "command": "python3 -m http.server 3000", "by": "you"}], 28)

    assert shown == "PORT  COMMAND            BY\n3000  python3 -m         you\n      http.server 3000"
    assert max(map(len, shown.splitlines())) <= 28


def test_a_cell_that_would_fill_the_screen_says_where_it_was_cut() -> None:
    shown = table([{"n": 1, "text": "word " * 100}], 24)

    assert shown is not None
    assert len(shown.splitlines()) == 7
    assert shown.endswith("…")


def test_too_many_columns_are_no_table() -> None:
    assert table([{f"n{number}": "x" * 20 for number in range(20)}], 80) is None
    assert table([{"a": None}], 80) is None


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        ([{"a": 1}], [{"a": 1}]),
        ({"x": {"a": 1}}, [{"name": "x", "a": 1}]),
        ([], None),
        ({}, None),
        ([1], None),
        ([{"a": 1}, 2], None),
        ({"x": 1}, None),
        ("text", None),
    ],
)
def test_rows_are_objects(value: Any, rows: Any) -> None:
    assert rows_in(value) == rows


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), ("a\n b", "a b"), (1.5, "1.5"), (True, "true"), ({"pid": 1, "command": "x"}, "1 x"), ([1, "b"], "1, b")]
)
def test_a_cell_is_one_line(value: Any, text: str) -> None:
    assert cell(value) == text
