"""Lanes need a browser."""

from sandbox_server.composition.lanes import build_lanes
from tests.composition.made import first


def test_their_operations_are_there_with_a_browser_alone() -> None:
    assert [feature.tag for feature in build_lanes(first().machine).features] == ["lanes"]
    assert build_lanes(first(DISABLE_BROWSER="true").machine).features == ()
