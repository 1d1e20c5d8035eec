"""Header fields are checked before the browser gets them, and kept within bounds."""

import pytest

from sandbox_server.drivers.devtools.headers import MAX_BYTES, MAX_FIELDS, fields_for_log, first_value, problem


@pytest.mark.parametrize("headers", [{"X-A": "1"}, {"Accept-Language": "de, en;q=0.5"}, {}])
def test_fields_that_may_be_sent(headers: dict[str, str]) -> None:
    assert problem(headers, request=True) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"": "1"},
        {"X A": "1"},
        {"X-A": "1\r\nX-B: 2"},
        {"X-A": "ü"},
        {"Host": "a"},
        {"content-length": "1"},
        {"X-A": "x" * MAX_BYTES},
        {f"X-{number}": "" for number in range(MAX_FIELDS + 1)},
    ],
)
def test_fields_that_may_not(headers: dict[str, str]) -> None:
    assert problem(headers, request=True)


def test_what_is_wrong_never_says_a_value() -> None:
    assert "hush" not in (problem({"Authorization": "hush\n"}, request=True) or "hush")


def test_an_answer_may_have_fields_that_a_request_may_not() -> None:
    assert problem({"Content-Length": "1"}, request=False) is None


def test_fields_of_one_name_are_told_apart_and_too_long_ones_are_cut() -> None:
    assert fields_for_log({"Set-Cookie": "a=1\nb=2", "X": "1"}) == ((("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X", "1")), False)
    assert fields_for_log({"A": "1", "B": "x" * MAX_BYTES}) == ((("A", "1"),), True)


def test_a_field_is_found_whatever_its_case() -> None:
    assert (first_value([("Location", "a"), ("location", "b")], "location"), first_value([], "location")) == ("a", None)
