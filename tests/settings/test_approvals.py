"""The variables of approvals."""

import pytest

from sandbox_server.settings import BadSettings, Settings, load


def test_without_rules_nothing_is_asked_and_an_answer_has_half_a_minute() -> None:
    assert (Settings().approvals.policy, Settings().approvals.answer) == (None, 30.0)


def test_the_times_are_bounded() -> None:
    for name in ("APPROVAL_SECONDS", "APPROVAL_TASK_SECONDS"):
        with pytest.raises(BadSettings, match=name):
            load({name: "0"})
