"""What is done next, for every state that a sandbox can be found in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.backends.backend import Found, Phase
from tandem_fleet.convergence import MAX_FAILURES, STEADY, Action, next_step
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADDRESS = "http://127.0.0.1:1"


def sandbox(desired: str, state: str, *, failures: int = 0, age: timedelta = timedelta()) -> Sandbox:
    """One as the store has it."""
    return Sandbox(
        id="a", name="work", tenant="default", spec=Spec(image="image"), desired=Desired(desired), state=State(state), reason="before",
        address=ADDRESS, failures=failures, created_at=NOW - age, changed_at=NOW - age,
    )  # fmt: skip


def found(phase: str | None) -> Found | None:
    """The same as the engine has it."""
    if phase is None:
        return None
    return Found(
        "a", "work", "default", Spec(image="image"), Phase(phase), NOW, ADDRESS if phase in ("running", "paused") else "", "it ended"
    )


@pytest.mark.parametrize(
    ("desired", "state", "phase", "action", "becomes"),
    [
        ("running", "creating", None, "create", "creating"),
        ("running", "creating", "created", "create", "creating"),
        ("running", "starting", "created", "start", "starting"),
        ("running", "creating", "stopped", "start", "starting"),
        ("running", "creating", "running", "probe", "starting"),
        ("running", "starting", "running", "probe", "starting"),
        ("running", "ready", "running", "nothing", "ready"),
        ("running", "paused", "paused", "start", "starting"),
        ("running", "paused", "running", "probe", "starting"),
        ("running", "ready", "paused", "start", "starting"),
        ("running", "stopped", "stopped", "start", "starting"),
        ("running", "ready", None, "nothing", "failed"),
        ("running", "failed", None, "nothing", "failed"),
        ("running", "failed", "stopped", "nothing", "failed"),
        ("running", "failed", "running", "probe", "starting"),
        ("paused", "ready", "running", "pause", "ready"),
        ("paused", "paused", "paused", "nothing", "paused"),
        ("paused", "ready", "stopped", "nothing", "failed"),
        ("paused", "ready", None, "nothing", "failed"),
        ("stopped", "ready", "running", "stop", "stopping"),
        ("stopped", "paused", "paused", "stop", "stopping"),
        ("stopped", "stopping", "stopped", "nothing", "stopped"),
        ("stopped", "starting", "created", "nothing", "stopped"),
        ("stopped", "stopped", None, "nothing", "failed"),
        ("deleted", "ready", "running", "delete", "deleting"),
        ("deleted", "failed", None, "delete", "deleting"),
        ("deleted", "deleting", None, "delete", "deleting"),
        ("deleted", "deleted", None, "nothing", "deleted"),
        ("deleted", "deleted", "stopped", "delete", "deleting"),
    ],
)
def test_the_next_step(desired: str, state: str, phase: str | None, action: str, becomes: str) -> None:
    step = next_step(sandbox(desired, state), found(phase), NOW)
    assert (step.action, step.state) == (action, becomes)


def test_one_that_ends_again_and_again_is_given_up_and_says_why() -> None:
    seen = []
    failures = 0
    for _ in range(MAX_FAILURES):
        step = next_step(sandbox("running", "ready", failures=failures), found("stopped"), NOW)
        failures = step.failures
        seen.append(step.action)
    assert seen == [Action.START] * (MAX_FAILURES - 1) + [Action.NOTHING]
    assert (step.state, step.reason) == (State.FAILED, f"it ended, {MAX_FAILURES} times in a row")


def test_a_start_that_was_cut_short_is_no_end() -> None:
    ended = found("stopped")
    assert ended
    step = next_step(sandbox("running", "starting", failures=2), replace(ended, reason=""), NOW)
    assert (step.action, step.state, step.failures) == (Action.START, State.STARTING, 2)


def test_one_that_was_ready_for_long_has_its_failures_forgotten() -> None:
    step = next_step(sandbox("running", "ready", failures=MAX_FAILURES - 1, age=STEADY * 2), found("stopped"), NOW)
    assert (step.action, step.failures) == (Action.START, 1)


def test_one_that_answers_at_another_address_is_asked_there() -> None:
    moved = sandbox("running", "ready").model_copy(update={"address": "http://127.0.0.1:2"})
    assert next_step(moved, found("running"), NOW).action == Action.PROBE


def test_failures_stay_counted_until_it_was_ready_for_long() -> None:
    assert next_step(sandbox("running", "ready", failures=2), found("running"), NOW).failures == 2
    assert next_step(sandbox("running", "starting", failures=2), found("running"), NOW).failures == 2
