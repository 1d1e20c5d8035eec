"""The drivers that more than one builder uses."""

from pathlib import Path

import pytest

from sandbox_server.composition.machine import build_machine, liveness_of
from sandbox_server.drivers.box.isolation import UNKNOWN, Isolation
from sandbox_server.settings import load

pytestmark = pytest.mark.anyio


def test_what_is_made_is_not_opened() -> None:
    machine = build_machine(load({}))

    assert not Path(machine.settings.paths.socket("spawn")).exists()
    assert machine.isolation.level


def test_a_browser_is_there_unless_it_was_left_out() -> None:
    assert build_machine(load({})).has_browser
    assert not build_machine(load({"DISABLE_BROWSER": "1"})).has_browser


async def test_readiness_asks_the_daemons_themselves() -> None:
    assert set(await liveness_of(load({}), UNKNOWN).states()) == {"spawner"}
    assert set(await liveness_of(load({}), Isolation("box", "")).states()) == {"spawner", "box"}
