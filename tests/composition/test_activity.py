"""What goes on without a request."""

import pytest

from sandbox_server.composition.activity import Activity


@pytest.mark.parametrize(
    ("commands", "recordings", "busy", "active"),
    [([], [], False, False), ([False, True], [], True, True), ([False], [False, True], False, True)],
)
def test_what_records_is_active_and_what_runs_is_busy_too(commands: list[bool], recordings: list[bool], busy: bool, active: bool) -> None:
    activity = Activity()
    for fact in commands:
        activity.follow_commands(lambda fact=fact: fact)
    activity.follow_recordings(*(lambda fact=fact: fact for fact in recordings))  # type: ignore[misc]

    assert (activity.busy(), activity.active()) == (busy, active)
