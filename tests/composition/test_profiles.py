"""Profiles need a browser."""

from sandbox_server.composition.profiles import build_profiles
from sandbox_server.drivers.devtools.devtools import Devtools
from tests.composition.made import first


def test_their_operations_are_there_with_a_browser_alone() -> None:
    made = build_profiles(first().machine, Devtools("/nowhere"))
    assert [feature.tag for feature in made.part.features] == ["profiles"] * 3
    assert made.held is not None
    without = build_profiles(first(DISABLE_BROWSER="true").machine, Devtools("/nowhere"))
    assert (without.held, without.part.features) == (None, ())
