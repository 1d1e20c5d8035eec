"""Settings of the agent's box and its checkpoints."""

import pytest

from sandbox_server.settings import BadSettings, load


def test_the_box_is_made_where_the_host_allows_it_unless_it_is_asked_for() -> None:
    assert (load({}).box.mode, load({"BOX": "on"}).box.mode) == ("auto", "on")


def test_limits_are_read_with_their_units() -> None:
    box = load({"BOX_MAX_PROCESSES": "64", "BOX_MAX_MEMORY_BYTES": "1073741824", "IDLE_SUSPEND_SECONDS": "90"}).box
    assert (box.max_processes, box.max_memory, box.idle_suspend) == (64, 1 << 30, 90.0)


@pytest.mark.parametrize("given", [{"BOX": "maybe"}, {"BOX_MAX_PROCESSES": "63"}, {"CHECKPOINT_BEFORE_RISK": "sometimes"}])
def test_what_cannot_be_meant_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(BadSettings, match=next(iter(given))):
        load(given)
