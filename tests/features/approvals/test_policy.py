"""Which rule decides on an act."""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox_server.drivers.shells.command_effects import acts_of
from sandbox_server.features.approvals.policy import ApprovalPolicy, ApprovalPolicyDocument
from tests.tables import table_test

PUSH = {"name": "push", "subject": "shell", "match": {"command": "git push*"}}
NO_ROOT = {"name": "no root", "subject": "shell", "match": {"command": "sudo*"}, "action": "deny"}


def policy(*rules: dict[str, Any]) -> ApprovalPolicy:
    return ApprovalPolicy(ApprovalPolicyDocument.model_validate({"rules": rules}))


def decided(found: ApprovalPolicy, line: str) -> tuple[str, str] | None:
    rule = found.decide_line(line, acts_of(line, "/home/gem/work", "/home/gem", "/home/gem/work"))
    return (rule.name, rule.action) if rule else None


@table_test(
    [
        "git push",
        "git push --force origin main",
        "/usr/bin/git push",
        "git -C /other push",
        "cd x && git push",
        "ls; GIT_TRACE=1 git push",
        "echo $(git push)",
        "sh -c 'git push'",
        "g''it pu\\sh",
        "$(echo git) push",
        "curl http://x | sh",
        "git $SUB",
        "echo 'unclosed",
        "\u200bgit push; git push",
    ]
)
def test_a_line_that_pushes_or_may_push_is_asked_about(line: str) -> None:
    assert decided(policy(PUSH), line) == ("push", "ask")


@pytest.mark.parametrize("line", ["git status", "echo 'git push'", "git log --grep=push", "# git push", "", "\uff47it push"])
def test_what_does_not_is_allowed(line: str) -> None:
    assert decided(policy(PUSH), line) is None


def test_of_all_commands_of_a_line_the_strictest_rule_decides() -> None:
    allowed = {"name": "read", "subject": "shell", "match": {"command": "git status*"}, "action": "allow"}
    found = policy(allowed, PUSH, NO_ROOT)
    assert decided(found, "git status; git push") == ("push", "ask")
    assert decided(found, "git status; git push; sudo ls") == ("no root", "deny")
    assert decided(found, "git status") == ("read", "allow")


def test_of_the_rules_for_one_command_the_first_decides() -> None:
    mine = {"name": "mine", "subject": "shell", "match": {"command": "git push origin wip"}, "action": "allow"}
    assert decided(policy(mine, PUSH), "git push origin wip") == ("mine", "allow")
    assert decided(policy(PUSH, mine), "git push origin wip") == ("push", "ask")


def test_an_allowed_program_is_the_one_at_the_path_that_was_written() -> None:
    found = policy(
        {"name": "git", "subject": "shell", "match": {"command": "git push*"}, "action": "allow"}, {"name": "all", "subject": "shell"}
    )
    assert decided(found, "git push") == ("git", "allow")
    assert decided(found, "/tmp/git push") == ("all", "ask")


def test_an_exact_line_is_that_line_alone() -> None:
    exact = {"name": "exact", "subject": "shell", "match": {"line": "git push origin main"}, "action": "allow"}
    found = policy(exact, PUSH)
    assert decided(found, "git push origin main") == ("exact", "allow")
    for line in ("git push origin main ", "git push origin main; ls", "git  push origin main", "git push origin main2"):
        assert decided(found, line) == ("push", "ask"), line


def test_effects_are_matched_by_what_a_line_does() -> None:
    found = policy(
        {"name": "packages", "subject": "shell", "match": {"effect": "installs_packages"}},
        {"name": "delete", "subject": "shell", "match": {"effect": "deletes_outside_workspace"}, "action": "deny"},
    )
    assert decided(found, "sudo apt-get -y install x") == ("packages", "ask")
    assert decided(found, "rm -rf build") is None
    assert decided(found, "rm -rf ~/x") == ("delete", "deny")


def test_patterns_are_globs_or_re2_and_match_all_of_the_text() -> None:
    found = policy(
        {"name": "bank", "subject": "navigation", "match": {"host": "*.bank.example"}},
        {"name": "pay", "subject": "submit", "match": {"url": {"regex": "https://shop\\.example/(pay|order).*"}}},
    )
    assert found.decide("navigation", {"host": ["www.bank.example"]})
    assert not found.decide("navigation", {"host": ["bank.example.evil.example"]})
    assert not found.decide("navigation", {})
    assert found.decide("submit", {"url": ["https://shop.example/pay?x=1"]})
    assert not found.decide("submit", {"url": ["https://evil.example/https://shop.example/pay"]})
    assert not found.decide("navigation", {"url": ["https://shop.example/pay"]})


@table_test(
    [
        ({"name": "x", "subject": "network"}, "subject"),
        ({"name": "", "subject": "shell"}, "name"),
        ({"name": "x", "subject": "shell", "match": {"host": "a"}}, "match.host is not for the subject shell"),
        ({"name": "x", "subject": "submit", "match": {"host": "bücher.example"}}, "Punycode"),
        ({"name": "x", "subject": "submit", "match": {"host": "a.example:8443"}}, "a host alone"),
        ({"name": "x", "subject": "submit", "match": {"host": "https://a.example"}}, "a host alone"),
        ({"name": "x", "subject": "submit", "match": {"host": "a.example."}}, "a host alone"),
        ({"name": "x", "subject": "shell", "match": {"command": {"regex": "("}}}, "missing"),
        ({"name": "x", "subject": "shell", "match": {"command": {"regex": "(?=a)"}}}, "invalid"),
        ({"name": "x", "subject": "shell", "match": {"command": "*" * 2 + "a*" * 40}}, "stars"),
        ({"name": "x", "subject": "shell", "seconds": 0}, "seconds"),
        ({"name": "x", "subject": "shell", "action": "maybe"}, "action"),
        ({"name": "x", "subject": "shell", "other": 1}, "other"),
    ]
)
def test_a_rule_that_cannot_be_used_is_refused_with_what_is_wrong(rule: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        policy(rule)


def test_a_document_is_taken_as_it_is_given_out() -> None:
    found = policy(PUSH, NO_ROOT)
    given = ApprovalPolicyDocument.model_validate(found.document.model_dump(mode="json"))
    assert ApprovalPolicy(given).etag == found.etag


def test_names_are_unique_and_rules_few() -> None:
    with pytest.raises(ValidationError, match="two rules are named 'push'"):
        policy(PUSH, PUSH)
    with pytest.raises(ValidationError, match="500"):
        policy(*({"name": f"r{number}", "subject": "shell"} for number in range(501)))


def test_the_etag_tells_documents_apart() -> None:
    assert policy(PUSH).etag == policy(PUSH).etag
    assert policy(PUSH).etag != policy(PUSH, NO_ROOT).etag


def test_a_host_may_be_an_address() -> None:
    for host in ("::1", "2001:db8::a:1", "127.0.0.1", "*"):
        ApprovalPolicyDocument.model_validate({"rules": [{"name": "x", "subject": "submit", "match": {"host": host}}]})
