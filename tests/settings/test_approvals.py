"""The variables of approvals."""

import pytest

from sandbox_server.settings import BadSettings, Settings, load


def test_without_rules_nothing_is_asked_and_an_answer_has_half_a_minute() -> None:
    assert (Settings().approvals.policy, Settings().approvals.answer) == (None, None)


def test_the_times_are_bounded() -> None:
    for name in ("APPROVAL_SECONDS", "APPROVAL_TASK_SECONDS"):
        with pytest.raises(BadSettings, match=name):
            load({name: "0"})


def test_who_is_told_elsewhere_has_longer_to_answer() -> None:
    assert [Settings().approvals.answer_within(notifies=notifies) for notifies in (False, True)] == [30, 300]
    assert load({"APPROVAL_SECONDS": "7"}).approvals.answer_within(notifies=True) == 7
    assert [load(env).handoff.notifies for env in ({}, {"HANDOFF_WEBHOOK_URL": "https://a.example"})] == [False, True]
