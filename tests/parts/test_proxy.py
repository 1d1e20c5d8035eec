"""The forward proxy is there whatever is left out."""

import pytest

from sandbox_server.parts import proxy
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


@pytest.mark.parametrize("variables", [{}, {"DISABLE_BROWSER": "true"}, {"DISABLE_PROXY": "true"}])
def test_its_operations_are_there_and_one_thing_is_opened(variables: dict[str, str]) -> None:
    part = proxy.part(Shared(load(variables)))

    assert [feature.tag for feature in part.features] == ["proxy", "browser"]
    assert len(part.opened) == 1
