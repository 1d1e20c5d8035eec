"""A change of the lease."""

from sandbox_server.core.control import Holding
from sandbox_server.features.control.lease_change import LeaseChange
from sandbox_server.features.control.lease_state_machine import Lease


def test_a_change_says_who_may_act_after_it() -> None:
    holding = Holding(2, "human", "ann", frozenset({"gui"}))
    assert LeaseChange("1-1", "taken", "ann", Lease(holding)).holding == holding
