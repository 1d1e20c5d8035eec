"""Who may act, as every process knows it. The rules themselves: `tests/features/control/test_lease_state_machine.py`."""

import pytest

from sandbox_server.core import Caller
from sandbox_server.core.control import Holding

ANN, BOB, AGENT = Caller("ann", person=True), Caller("bob", person=True), Caller("ann")


def test_a_holding_survives_encoding_and_decoding() -> None:
    holding = Holding(7, "human", "ann", frozenset({"gui", "cdp"}))
    assert Holding.loads(holding.dumps()) == holding


@pytest.mark.parametrize("value", [None, [], {}, {"epoch": "x", "state": "agent", "holder": None, "reach": []}])
def test_what_is_no_holding_is_refused(value: object) -> None:
    with pytest.raises((TypeError, KeyError, ValueError)):
        Holding.loads(value)


def test_the_holder_acts_and_others_act_on_what_is_not_held() -> None:
    holding = Holding(2, "human", "ann", frozenset({"gui"}))
    assert holding.admits(ANN, "gui")
    assert not holding.admits(BOB, "gui")
    assert not holding.admits(AGENT, "gui"), "a program of the same name"
    assert holding.admits(AGENT, "shell")
    assert not holding.drives(ANN, "shell"), "a person's input needs the lease"


def test_a_refusal_tells_who_and_under_which_epoch_and_what_became_of_the_action() -> None:
    refusal = Holding(2, "human", "ann", frozenset({"gui"})).refusal("unknown")
    assert refusal.status == 423
    assert refusal.details == {
        "reason": "held_by_human",
        "epoch": 2,
        "state": "human",
        "holder": "ann",
        "reach": ["gui"],
        "outcome": "unknown",
    }
    assert "in part" in refusal.message
    assert "frozen" in Holding(3, "frozen").refusal().message
