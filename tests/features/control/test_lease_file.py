import time
from pathlib import Path

import pytest

from sandbox_server.core.control import Holding
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.lease_file import read_lease
from sandbox_server.features.control.lease_state_machine import Lease

HELD = Holding(7, "human", "ann", frozenset({"gui", "cdp"}))


def test_a_holder_of_another_life_has_no_viewer_until_one_connects(tmp_path: Path) -> None:
    file = JsonFile(str(tmp_path / "lease.json"))
    file.write(HELD.dumps() | {"since": time.time() - 5})
    found = read_lease(file, 100.0)
    assert (found.holding, found.gone) == (HELD, 100.0)
    assert 90 < found.since < 96


@pytest.mark.parametrize("content", ["{", '{"epoch": 1}', "[]"])
def test_without_a_lease_that_can_be_read_the_agent_has_control(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lease.json"
    assert read_lease(JsonFile(str(path)), 1.0) == Lease()
    path.write_text(content)
    assert read_lease(JsonFile(str(path)), 1.0) == Lease()
