"""The gate of acts, as it is put together."""

import json

import pytest

from tests.composition.made import first

RULES = {"rules": [{"name": "bank", "subject": "navigation", "match": {"host": "bank.example"}, "action": "deny"}]}


def test_the_policy_is_the_settings(tmp_path: object) -> None:
    made = first(APPROVALS=json.dumps(RULES)).approvals
    assert [rule.name for rule in made.store.policy.document.rules] == ["bank"]
    assert made.browser.subjects() == ["navigation"]
    assert first().approvals.browser.subjects() == []


def test_a_policy_that_cannot_be_used_does_not_start() -> None:
    with pytest.raises(ValueError, match="APPROVALS cannot be used"):
        first(APPROVALS="{")
