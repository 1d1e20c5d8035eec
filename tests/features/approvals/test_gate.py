"""The gate of acts."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.approval import ApprovalDenied, ApprovalOutcome
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.approvals.gate import ApprovalGate, GatedAct, TaskScope
from sandbox_server.features.approvals.policy import ApprovalMatch, ApprovalPolicyDocument
from sandbox_server.features.approvals.policy_store import ApprovalPolicyStore, TaskGrants
from tests.features.approvals.people import Person

pytestmark = pytest.mark.anyio

BANK = {"name": "bank", "subject": "navigation", "match": {"host": "*bank.example"}}


def gate(folder: Path, person: Person, *rules: dict[str, Any]) -> tuple[ApprovalGate, ApprovalPolicyStore]:
    document = ApprovalPolicyDocument.model_validate({"rules": rules or (BANK,)})
    store = ApprovalPolicyStore(JsonFile(str(folder / "approvals.json")), document)
    return ApprovalGate(store, TaskGrants(60), person.ask), store


def opening(host: str = "bank.example", by: str = "agent") -> GatedAct:
    same = ApprovalMatch(host=host)
    decide = partial(lambda policy, host: policy.decide("navigation", {"host": [host]}), host=host)
    return GatedAct("navigation", decide, {"host": host}, by, same, TaskScope(host, f"Every page of {host}."))


async def test_what_no_rule_names_is_allowed_without_a_question(tmp_path: Path) -> None:
    person = Person("deny")
    found, _ = gate(tmp_path, person)
    await found.admit(opening("other.example"))
    assert person.asked == []


async def test_what_a_rule_denies_is_denied_without_a_question(tmp_path: Path) -> None:
    person = Person("once")
    found, _ = gate(tmp_path, person, BANK | {"action": "deny"})
    with pytest.raises(ApprovalDenied, match="the rule 'bank' denies this") as denied:
        await found.admit(opening())
    assert (denied.value.status, denied.value.kind, denied.value.details) == (
        403,
        "approval_denied",
        {"rule": "bank", "outcome": "denied by rule"},
    )
    assert person.asked == []


async def test_a_person_is_asked_with_the_rules_own_times(tmp_path: Path) -> None:
    person = Person("once")
    found, _ = gate(tmp_path, person, BANK | {"seconds": 5, "on_timeout": "allow"})
    await found.admit(opening())
    (question,) = person.asked
    assert (question.subject, question.rule, question.asked_by, question.details) == (
        "navigation",
        "bank",
        "agent",
        {"host": "bank.example"},
    )
    assert (question.seconds, question.on_timeout) == (5, "allow")


@pytest.mark.parametrize("outcome", ["deny", "timeout", "cancelled", "refused"])
async def test_every_other_outcome_denies_and_says_who_and_how_to_go_on(tmp_path: Path, outcome: ApprovalOutcome) -> None:
    found, _ = gate(tmp_path, Person(outcome))
    with pytest.raises(ApprovalDenied) as denied:
        await found.admit(opening())
    assert denied.value.details["outcome"] == outcome
    assert denied.value.details["by"] == "ann"
    assert "request_human" in (denied.value.hint or "")


async def test_once_allows_one_act(tmp_path: Path) -> None:
    person = Person("once", "deny")
    found, _ = gate(tmp_path, person)
    await found.admit(opening())
    with pytest.raises(ApprovalDenied):
        await found.admit(opening())


async def test_for_this_task_allows_the_same_act_of_the_same_caller(tmp_path: Path) -> None:
    person = Person("task", "deny")
    found, store = gate(tmp_path, person)
    await found.admit(opening())
    await found.admit(opening())
    await found.admit(opening(by="agent#1f03ac"))
    for other in (opening("www.bank.example"), opening(by="other")):
        with pytest.raises(ApprovalDenied):
            await found.admit(other)
    await store.replace(store.policy.document, "*")
    with pytest.raises(ApprovalDenied):
        await found.admit(opening())


async def test_always_becomes_a_rule_for_that_act_alone(tmp_path: Path) -> None:
    person = Person("always", "deny")
    found, store = gate(tmp_path, person)
    await found.admit(opening())
    await found.admit(opening(by="other"))
    assert [(rule.name, rule.action, rule.match.host) for rule in store.policy.document.rules] == [
        ("allowed 1", "allow", "bank.example"),
        ("bank", "ask", "*bank.example"),
    ]
    with pytest.raises(ApprovalDenied):
        await found.admit(opening("www.bank.example"))


async def test_once_that_was_anothers_is_asked_again(tmp_path: Path) -> None:
    person = Person("once", "deny")
    person.joined = True
    found, _ = gate(tmp_path, person)
    with pytest.raises(ApprovalDenied):
        await found.admit(opening())
    assert len(person.asked) == 2


async def test_who_always_meets_anothers_answer_gives_up(tmp_path: Path) -> None:
    person = Person("once")
    found, _ = gate(tmp_path, person)
    person.before = lambda: setattr(person, "joined", True)
    with pytest.raises(ApprovalDenied, match="too many calls"):
        await found.admit(opening())
    assert len(person.asked) == 20


async def test_a_policy_that_denies_by_now_outweighs_the_answer(tmp_path: Path) -> None:
    person = Person("once")
    found, store = gate(tmp_path, person)
    denied = ApprovalPolicyDocument.model_validate({"rules": [BANK | {"action": "deny"}]})

    def change() -> None:
        store.policy = type(store.policy)(denied)

    person.before = change
    with pytest.raises(ApprovalDenied, match="the policy was changed"):
        await found.admit(opening())


async def test_another_rule_that_asks_by_then_is_asked_about_too(tmp_path: Path) -> None:
    person = Person("once", "deny")
    found, store = gate(tmp_path, person)
    other = ApprovalPolicyDocument.model_validate({"rules": [BANK | {"name": "other"}]})
    person.before = lambda: setattr(store, "policy", type(store.policy)(other))
    with pytest.raises(ApprovalDenied, match="ann denied this"):
        await found.admit(opening())
    assert [question.rule for question in person.asked] == ["bank", "other"]


async def test_what_each_answer_allows_is_said_and_what_cannot_be_is_not_offered(tmp_path: Path) -> None:
    person = Person("once")
    found, _ = gate(tmp_path, person)
    act = opening()
    await found.admit(act)
    await found.admit(replace(act, for_task=None, always=None))
    assert [question.answers for question in person.asked] == [("once", "task", "always", "deny"), ("once", "deny")]
    assert {answer: effect.seconds for answer, effect in person.asked[0].effects.items()} == {"once": None, "task": 60, "always": None}
