"""The internal paths for lanes."""

from typing import Any

import pytest

BrowserServer = Any


@pytest.mark.parametrize("name", ["main", "Ann", "a" * 64, "-ann"])
def test_what_is_no_name_of_a_lane_makes_none(shared: BrowserServer, name: str) -> None:
    answer = shared.request("PUT", f"/browser/lanes/{name}", content=b'"ann"')
    assert (answer.status_code, shared.get("/browser/lanes")) == (400, [])


def test_a_lane_that_is_not_there_is_named(shared: BrowserServer) -> None:
    answer = shared.request("DELETE", "/browser/lanes/none")
    assert (answer.status_code, "no lane 'none'" in answer.json()["message"]) == (404, True)
