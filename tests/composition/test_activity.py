"""What goes on without a request."""

from functools import partial

import pytest

from sandbox_server.composition.activity import Activity


@pytest.mark.parametrize(
    ("commands", "recordings", "busy", "active"),
    [([], [], False, False), ([False, True], [], True, True), ([False], [False, True], False, True)],
)
def test_what_records_is_active_and_what_runs_is_busy_too(commands: list[bool], recordings: list[bool], busy: bool, active: bool) -> None:
    activity = Activity()
    activity.follow_commands(*(partial(bool, fact) for fact in commands))
    activity.follow_recordings(*(partial(bool, fact) for fact in recordings))

    assert (activity.busy(), activity.active()) == (busy, active)


def test_a_person_keeps_the_box_awake_and_an_open_handoff_is_a_reason_only() -> None:
    activity, asked, watched = Activity(), [False], [False]
    activity.follow_handoffs(lambda: asked[0])
    activity.follow_people(lambda: watched[0])
    activity.follow_commands(lambda: False)
    assert (activity.active(), activity.reasons()) == (False, [])
    asked[0] = True
    assert (activity.active(), activity.reasons()) == (False, ["handoffs"])
    watched[0] = True
    assert (activity.active(), activity.reasons()) == (True, ["people", "handoffs"])
