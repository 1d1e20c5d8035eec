"""A test of a table fails with every row that is wrong."""

import pytest

from tests.tables import table_test


@table_test({"two": (2, "2"), "three": (3, "3")})
def test_every_row_is_checked(number: int, text: str) -> None:
    assert str(number) == text


def test_all_that_is_wrong_is_told_by_its_name() -> None:
    @table_test({"sound": "1", "another": "2", "no number": "x", "nothing": None})
    def test(text: str) -> None:
        assert int(text) == 1

    with pytest.raises(AssertionError) as raised:
        test()
    first, *told = str(raised.value).splitlines()
    assert first == "3 of 4 rows are wrong:"
    assert [line for line in told if line.startswith(("another: AssertionError", "no number: ValueError", "nothing: TypeError"))] == [
        line for line in told if not line.startswith(" ")
    ]
    assert isinstance(raised.value.__cause__, AssertionError)


def test_what_is_not_refused_is_told_by_what_it_is() -> None:
    @table_test(["x", "1"])
    def test(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(AssertionError, match=r"1 of 2 rows are wrong:\n'1': Failed: DID NOT RAISE"):
        test()


def test_a_table_has_rows() -> None:
    with pytest.raises(AssertionError):
        table_test([])
