"""What runs code."""

from sandbox_server.parts import code
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


def test_code_that_runs_counts_as_activity() -> None:
    shared = Shared(load({}))
    part = code.part(shared)

    assert {feature.tag for feature in part.features} == {"jupyter", "nodejs", "code", "editors"}
    assert len(shared.activity.commands) == 2
    assert not shared.activity.busy()
