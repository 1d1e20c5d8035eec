"""What an agent works with first."""

import pytest

from sandbox_server.parts import work
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import load


@pytest.fixture
def shared() -> Shared:
    """What the parts of a sandbox with default settings share."""
    return Shared(load({}))


@pytest.fixture
def part(shared: Shared) -> Part:
    """The part."""
    return work.part(shared)


def test_shells_commands_files_and_the_box_are_among_the_first(part: Part) -> None:
    assert {"shell", "bash", "file", "file-watch", "sandbox", "checkpoints"} <= {feature.tag for feature in part.features}


def test_a_suspended_box_is_resumed_before_a_checkpoint_is_made_of_it(part: Part) -> None:
    assert [type(guard.__self__).__name__ for guard in part.guards] == ["Suspension", "AutomaticCheckpoints"]  # type: ignore[attr-defined]


def test_nothing_runs_before_anything_was_asked_for(shared: Shared, part: Part) -> None:
    assert len(shared.activity.commands) == 2
    assert not shared.activity.active()
    assert part.opened
