"""The forward proxy is there whatever is left out."""

import pytest

from sandbox_server.composition.machine import build_machine
from sandbox_server.composition.proxy import build_proxy
from sandbox_server.settings import load


@pytest.mark.parametrize("variables", [{}, {"DISABLE_BROWSER": "true"}, {"DISABLE_PROXY": "true"}])
def test_its_operations_are_there_and_one_thing_is_opened(variables: dict[str, str]) -> None:
    forwarding = build_proxy(build_machine(load(variables)))

    assert [feature.tag for feature in forwarding.part.features] == ["proxy", "browser"]
    assert forwarding.part.opened == (forwarding.proxy,)
