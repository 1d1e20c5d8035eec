"""What is to be done next, so that a sandbox becomes what it shall be: a function of what it shall be and what the engine says."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tandem_fleet.backends.backend import Found, Phase
from tandem_fleet.sandboxes import Desired, Sandbox, State

MAX_FAILURES = 5
"""Ends in a row after which it is not started again by itself."""
STEADY = timedelta(minutes=10)
"""A sandbox that was ready for so long starts with no failures when it ends."""


class Action(StrEnum):
    """What is asked of the engine."""

    NOTHING = "nothing"
    CREATE = "create"
    START = "start"
    STOP = "stop"
    PAUSE = "pause"
    DELETE = "delete"
    PROBE = "probe"


@dataclass(frozen=True)
class Step:
    """An action, and what the sandbox is while it is done. Without an action it is that for good."""

    action: Action
    state: State
    reason: str = ""
    failures: int = 0


def next_step(sandbox: Sandbox, found: Found | None, now: datetime) -> Step:
    """The next step. An action of NOTHING with the state that the sandbox has means that there is none."""
    if sandbox.desired == Desired.DELETED:
        done = sandbox.state == State.DELETED and found is None
        return Step(Action.NOTHING, State.DELETED) if done else Step(Action.DELETE, State.DELETING)
    if sandbox.state == State.FAILED and not (found and found.phase == Phase.RUNNING and sandbox.desired == Desired.RUNNING):
        return Step(Action.NOTHING, State.FAILED, sandbox.reason, sandbox.failures)
    if found is None:
        if sandbox.state == State.CREATING:
            return Step(Action.CREATE, State.CREATING)
        return Step(Action.NOTHING, State.FAILED, "it was removed from the engine")
    return _STEPS[sandbox.desired](sandbox, found, now)


def _to_running(sandbox: Sandbox, found: Found, now: datetime) -> Step:
    if found.phase == Phase.CREATED:
        # Created again: the call that made it may have been cut short before its keys were in it.
        return Step(Action.CREATE, State.CREATING) if sandbox.state == State.CREATING else Step(Action.START, State.STARTING)
    if found.phase == Phase.PAUSED:
        return Step(Action.START, State.STARTING, failures=sandbox.failures)
    if found.phase == Phase.STOPPED:
        return _after_end(sandbox, found, now)
    if sandbox.state == State.READY and sandbox.address == found.address:
        return Step(Action.NOTHING, State.READY, failures=sandbox.failures)
    return Step(Action.PROBE, State.STARTING, failures=sandbox.failures)


def _after_end(sandbox: Sandbox, found: Found, now: datetime) -> Step:
    """What follows when its programs ended though they shall run."""
    if sandbox.state not in (State.READY, State.STARTING):
        return Step(Action.START, State.STARTING)  # it was stopped by order, and shall run again
    if sandbox.state == State.STARTING and not found.reason:
        return Step(Action.START, State.STARTING, failures=sandbox.failures)  # its start was cut short: nobody saw programs end
    steady = sandbox.state == State.READY and now - sandbox.changed_at > STEADY
    failures = 1 if steady else sandbox.failures + 1
    if failures >= MAX_FAILURES:
        return Step(Action.NOTHING, State.FAILED, f"{found.reason or 'it ended'}, {failures} times in a row", failures)
    return Step(Action.START, State.STARTING, found.reason, failures)


def _to_paused(sandbox: Sandbox, found: Found, now: datetime) -> Step:
    if found.phase == Phase.PAUSED:
        return Step(Action.NOTHING, State.PAUSED)
    if found.phase == Phase.RUNNING:
        return Step(Action.PAUSE, sandbox.state)
    return Step(Action.NOTHING, State.FAILED, f"{found.reason or 'it does not run'}: there is nothing to pause")


def _to_stopped(_: Sandbox, found: Found, now: datetime) -> Step:
    if found.phase in (Phase.STOPPED, Phase.CREATED):
        return Step(Action.NOTHING, State.STOPPED)
    return Step(Action.STOP, State.STOPPING)


_STEPS = {Desired.RUNNING: _to_running, Desired.PAUSED: _to_paused, Desired.STOPPED: _to_stopped}
