"""The egress policy's parts."""

from dataclasses import replace

import pytest

from sandbox_server.composition.egress import build_egress, off_reason
from sandbox_server.composition.first import First
from sandbox_server.features.egress.policy_operations import EgressPolicyOperations
from tests.composition.made import first


def in_a_box(**environ: str) -> First:
    """The first parts of a sandbox with a box."""
    made = first(**environ)
    return replace(made, machine=replace(made.machine, isolation=replace(made.machine.isolation, level="box", egress="namespace")))


@pytest.mark.parametrize(
    ("made", "reason"), [(first(), "the isolation level is"), (in_a_box(EGRESS="false"), "EGRESS is false"), (in_a_box(), "")]
)
def test_without_a_box_or_by_its_owners_wish_there_is_no_policy(made: First, reason: str) -> None:
    parts = build_egress(made)

    assert off_reason(made.machine).startswith(reason)
    assert bool(off_reason(made.machine)) is bool(reason)
    assert len(made.gateway.health.more) == (0 if reason else 1)
    assert [feature.tag for feature in parts.part.features] == ["egress"] * 5


def test_calls_with_a_task_keep_it_running() -> None:
    made = first()
    parts = build_egress(made)
    [operations] = [feature for feature in parts.part.features if isinstance(feature, EgressPolicyOperations)]
    assert made.gateway.task_calls.listener == operations._tasks.called
