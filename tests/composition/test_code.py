"""What runs code."""

from sandbox_server.composition.activity import Activity
from sandbox_server.composition.code import build_code
from sandbox_server.composition.machine import build_machine
from sandbox_server.settings import load


def test_code_that_runs_counts_as_activity() -> None:
    activity = Activity()
    part = build_code(build_machine(load({})), activity)

    assert {feature.tag for feature in part.features} == {"jupyter", "nodejs", "code", "editors"}
    assert len(activity._commands) == 2
    assert not activity.busy()
