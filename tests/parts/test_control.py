"""Who drives."""

from sandbox_server.app import compose
from sandbox_server.features.control.guard import ControlGuard
from sandbox_server.features.control.parts import ControlParts
from sandbox_server.parts import control
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


def test_the_lease_is_there_from_the_first_call_on() -> None:
    shared = Shared(load({}))
    part = control.part(shared)

    assert isinstance(shared.control, ControlParts)
    assert "control" in {feature.tag for feature in part.features}
    assert shared.control.driving in part.opened


def test_whether_a_call_may_act_is_judged_before_a_suspended_box_is_resumed_for_it() -> None:
    names = [type(getattr(guard, "__self__", guard)).__name__ for guard in compose(load({})).guards]

    assert names.index("Audit") < names.index(ControlGuard.__name__) < names.index("Suspension")


def test_the_settings_are_the_leases() -> None:
    driving = Shared(load({"CONTROL_IDLE_SECONDS": "7", "CONTROL_TAKE": "click"})).control.driving

    assert (driving.times.idle, driving.times.cap, driving.policy) == (7, 3600, "click")
