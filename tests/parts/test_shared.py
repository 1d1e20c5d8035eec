"""Parts tell what goes on in them."""

from pathlib import Path

import pytest

from sandbox_server.parts.shared import Activity, Shared
from sandbox_server.settings import load


@pytest.mark.parametrize(
    ("commands", "recordings", "busy", "active"),
    [([], [], False, False), ([False, True], [], True, True), ([False], [False, True], False, True)],
)
def test_what_records_is_active_and_what_runs_is_busy_too(commands: list[bool], recordings: list[bool], busy: bool, active: bool) -> None:
    activity = Activity([lambda fact=fact: fact for fact in commands], [lambda fact=fact: fact for fact in recordings])  # type: ignore[misc]

    assert (activity.busy(), activity.active()) == (busy, active)


def test_what_is_shared_is_not_opened() -> None:
    shared = Shared(load({}))

    assert not Path(shared.settings.paths.socket("spawn")).exists()
    assert shared.found.level
