"""Deprecated operations: headers, document and sentence."""

from datetime import date

import pytest

from sandbox_server.core.deprecation import Deprecation

NEW_YEAR = date(2027, 1, 1)
SUMMER = date(2027, 7, 1)


def test_headers_are_those_of_the_two_rfcs() -> None:
    assert Deprecation(NEW_YEAR, SUMMER, "POST /v1/new").headers == {
        "Deprecation": "@1798761600",
        "Sunset": "Thu, 01 Jul 2027 00:00:00 GMT",
        "Link": '</v1/new>; rel="successor-version"',
    }


def test_what_is_not_decided_is_not_said() -> None:
    assert Deprecation(NEW_YEAR).headers == {"Deprecation": "@1798761600"}
    assert Deprecation(NEW_YEAR).sentence == "Deprecated since 2027-01-01."


def test_a_replacement_with_an_open_path_is_no_link() -> None:
    assert "Link" not in Deprecation(NEW_YEAR, replacement="GET /v1/new/{id}").headers


def test_people_read_the_same_in_a_sentence() -> None:
    said = Deprecation(NEW_YEAR, SUMMER, "POST /v1/new").sentence
    assert said == "Deprecated since 2027-01-01. It may be gone from 2027-07-01 on. Use `POST /v1/new` instead."


@pytest.mark.parametrize(("sunset", "replacement"), [(NEW_YEAR, ""), (None, "/v1/new"), (None, "the new one")])
def test_what_makes_no_sense_is_refused_where_it_is_declared(sunset: date | None, replacement: str) -> None:
    with pytest.raises(ValueError, match=r"must be after the deprecation|must be a verb and a path"):
        Deprecation(NEW_YEAR, sunset, replacement)
