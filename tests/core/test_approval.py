"""What a decision allows."""

import pytest

from sandbox_server.core.approval import APPROVAL_ANSWERS, ApprovalDecision, ApprovalDenied, ApprovalOutcome, TimeoutAction
from sandbox_server.core.errors import PermissionDenied


@pytest.mark.parametrize(
    ("outcome", "on_timeout", "allowed"),
    [
        ("once", "deny", True),
        ("task", "deny", True),
        ("always", "deny", True),
        ("deny", "allow", False),
        ("cancelled", "allow", False),
        ("refused", "allow", False),
        ("timeout", "deny", False),
        ("timeout", "allow", True),
    ],
)
def test_only_a_yes_allows_or_a_timeout_where_the_rule_says_so(outcome: ApprovalOutcome, on_timeout: TimeoutAction, allowed: bool) -> None:
    assert ApprovalDecision(outcome, on_timeout=on_timeout).allowed is allowed


def test_an_outcome_that_is_no_answer_is_told_as_none() -> None:
    outcomes: tuple[ApprovalOutcome, ...] = ("once", "task", "always", "deny", "timeout", "cancelled", "refused")
    assert [ApprovalDecision(outcome).answer for outcome in outcomes] == [*APPROVAL_ANSWERS, None, None, None]


def test_what_is_denied_is_a_lack_of_permission_with_a_name_of_its_own() -> None:
    denied = ApprovalDenied("no")
    assert isinstance(denied, PermissionDenied)
    assert (denied.status, denied.kind) == (403, "approval_denied")
