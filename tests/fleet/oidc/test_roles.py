"""Which tenant an account is of."""

from typing import Any

import pytest
from tandem_fleet.api.authorization import Scope
from tandem_fleet.api.browser_sessions import SCOPES
from tandem_fleet.errors import ForbiddenError, InvalidError
from tandem_fleet.oidc.roles import MOST_VALUES, ROLES, Rule, account_of, read_rules, rule_of


def test_roles_allow_no_more_than_a_signed_in_browser_may() -> None:
    assert {Scope(one) for role in ROLES.values() for one in role} <= SCOPES


def test_the_first_rule_that_fits_holds() -> None:
    rules = read_rules("cn=staff=acme:member, *=guests:viewer")
    assert rule_of(rules, "groups", {"groups": ["x", "cn=staff"]}) == Rule("cn=staff", "acme", "member")
    assert rule_of(rules, "groups", {}) == Rule("*", "guests", "viewer")


@pytest.mark.parametrize(
    ("claim", "claims"),
    [("groups", {"groups": "staff"}), ("realm.roles", {"realm": {"roles": ["staff"]}}), ("https://a.b/c", {"https://a.b/c": ["staff"]})],
)
def test_a_claim_is_a_text_a_list_or_within_another(claim: str, claims: dict[str, Any]) -> None:
    assert rule_of(read_rules("staff=acme:viewer"), claim, claims).tenant == "acme"


@pytest.mark.parametrize("groups", [None, [], ["Staff"], ["staf"], {"staff": True}, 7, [["staff"]], ["staff"] * (MOST_VALUES + 1)])
def test_who_has_no_such_value_is_refused(groups: object) -> None:
    with pytest.raises(ForbiddenError):
        rule_of(read_rules("staff=acme:viewer"), "groups", {"groups": groups})


@pytest.mark.parametrize("text", ["", "staff", "staff=acme", "staff=acme:root", "=acme:viewer", "staff=:viewer"])
def test_a_rule_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidError):
        read_rules(text)


def test_an_account_is_called_by_a_mail_address_that_was_verified() -> None:
    assert account_of({"sub": "7", "email": "ann@example.org", "email_verified": True}).name == "ann@example.org"


@pytest.mark.parametrize("verified", [None, False, "true", 1])
def test_a_mail_address_that_nobody_verified_is_no_name(verified: object) -> None:
    assert account_of({"sub": "7", "email": "boss@example.org", "email_verified": verified}).name == "7"


@pytest.mark.parametrize("subject", [None, "", "x" * 91, "a\n", "ä", 7])
def test_a_subject_that_cannot_be_written_down_is_refused(subject: object) -> None:
    with pytest.raises(ForbiddenError):
        account_of({"sub": subject})
