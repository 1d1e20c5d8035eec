"""The policy in force, and what was allowed for a task."""

import json
from pathlib import Path

import pytest

from sandbox_server.core import PreconditionFailed, PreconditionRequired, ResourceExhausted
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.approvals.policy import ApprovalMatch, ApprovalPolicyDocument
from sandbox_server.features.approvals.policy_store import ApprovalPolicyStore, TaskGrants, configured_policy
from tests.features.handoff.queues import Clock
from tests.threads import Held, left_in_the_middle

pytestmark = pytest.mark.anyio

PUSH = {"name": "push", "subject": "shell", "match": {"command": "git push*"}}
DOCUMENT = ApprovalPolicyDocument.model_validate({"rules": [PUSH]})


def store(folder: Path, configured: ApprovalPolicyDocument = DOCUMENT) -> ApprovalPolicyStore:
    return ApprovalPolicyStore(JsonFile(str(folder / "approvals.json")), configured)


def test_the_setting_is_json_or_a_file_with_it(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"rules": [PUSH]}))
    assert configured_policy(None) == ApprovalPolicyDocument()
    assert configured_policy(json.dumps({"rules": [PUSH]})) == configured_policy(str(file)) == DOCUMENT


@pytest.mark.parametrize("setting", ["{", '{"rules": [{"name": "x"}]}', '{"rule": []}', "/no/such/file", "[]"])
def test_a_policy_in_the_settings_that_cannot_be_used_is_an_error(setting: str) -> None:
    with pytest.raises(ValueError, match="APPROVALS cannot be used"):
        configured_policy(setting)


async def test_a_change_needs_the_version_that_its_author_has_seen(tmp_path: Path) -> None:
    found = store(tmp_path)
    with pytest.raises(PreconditionRequired):
        await found.replace(ApprovalPolicyDocument(), None)
    with pytest.raises(PreconditionFailed):
        await found.replace(ApprovalPolicyDocument(), '"other"')
    assert found.policy.document == DOCUMENT
    before = found.policy.etag
    await found.replace(ApprovalPolicyDocument(), f'"other", {before}')
    with pytest.raises(PreconditionFailed):
        await found.replace(DOCUMENT, before)
    await found.replace(DOCUMENT, "*")


async def test_a_change_outlives_the_process_and_the_setting_does_not_come_back(tmp_path: Path) -> None:
    await store(tmp_path).replace(ApprovalPolicyDocument(), "*")
    assert store(tmp_path).policy.document == ApprovalPolicyDocument()


async def test_what_is_always_allowed_comes_in_front_of_the_rule_that_asked(tmp_path: Path) -> None:
    deny = {"name": "never", "subject": "shell", "match": {"command": "* --force"}, "action": "deny"}
    found = store(tmp_path, ApprovalPolicyDocument.model_validate({"rules": [deny, PUSH]}))
    for line in ("git push a", "git push b"):
        await found.allow_always("push", "shell", ApprovalMatch(line=line))
    rules = found.policy.document.rules
    assert [(rule.name, rule.action, rule.match.line) for rule in rules] == [
        ("never", "deny", None),
        ("allowed 1", "allow", "git push a"),
        ("allowed 2", "allow", "git push b"),
        ("push", "ask", None),
    ]
    await found.allow_always("gone", "shell", ApprovalMatch(line="x"))
    assert found.policy.document.rules == rules


async def test_a_policy_does_not_grow_without_end(tmp_path: Path) -> None:
    many = [{"name": f"r{number}", "subject": "shell"} for number in range(500)]
    found = store(tmp_path, ApprovalPolicyDocument.model_validate({"rules": many}))
    with pytest.raises(ResourceExhausted):
        await found.allow_always("r1", "shell", ApprovalMatch(line="x"))


def test_a_grant_is_for_one_caller_and_one_act_and_ends() -> None:
    clock = Clock()
    grants = TaskGrants(60, clock)
    grants.allow(("agent", "shell", "x"))
    assert grants.allows(("agent", "shell", "x"))
    for other in (("other", "shell", "x"), ("agent", "tool", "x"), ("agent", "shell", "y")):
        assert not grants.allows(other)
    clock.now += 60
    assert not grants.allows(("agent", "shell", "x"))


def test_there_are_few_grants() -> None:
    grants = TaskGrants(60, Clock())
    for number in range(1001):
        grants.allow(("agent", "shell", str(number)))
    assert [grants.allows(("agent", "shell", str(number))) for number in (0, 1, 1000)] == [False, True, True]


async def test_who_leaves_while_the_policy_is_written_lets_nobody_write_beside_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = JsonFile(str(tmp_path / "approvals.json"))
    found, held = ApprovalPolicyStore(file, DOCUMENT), Held(file.write)
    monkeypatch.setattr(file, "write", held)
    await left_in_the_middle(found.replace(ApprovalPolicyDocument(), "*"), found.replace(DOCUMENT, "*"), held)
    assert ApprovalPolicyDocument.model_validate(file.read()) == found.policy.document == DOCUMENT
