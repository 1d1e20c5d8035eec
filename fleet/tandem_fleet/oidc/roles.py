"""Which tenant an account of a provider is of, and what it may do there: by the values of one claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tandem_fleet.errors import ForbiddenError, InvalidError

ROLES: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({"sandboxes:read", "people"}),
    "member": frozenset({"sandboxes:read", "people", "sandboxes:use"}),
}
"""A viewer sees the wall and answers there; a member gets into sandboxes, too."""
EVERYBODY = "*"
MOST_VALUES = 1000
"""Values of a claim that are looked at: an account with more is refused."""
_LONGEST_NAME, _LONGEST_SUBJECT = 64, 90


@dataclass(frozen=True)
class Rule:
    """A value of the claim, and what it gives."""

    value: str
    tenant: str
    role: str


@dataclass(frozen=True)
class Account:
    """A person whom the provider vouches for."""

    subject: str
    """The provider's identifier, which it gives to nobody else."""
    name: str
    """The mail address if the provider has verified it, and else the subject."""


def read_rules(text: str) -> tuple[Rule, ...]:
    """Rules of a list with commas. Raises `InvalidError`, for an empty one, too: then nobody could sign in."""
    rules = tuple(_rule(word.strip()) for word in text.split(",") if word.strip())
    if not rules:
        raise InvalidError("TANDEM_OIDC_RULES says who may sign in: VALUE=TENANT:ROLE, with commas")
    return rules


def _rule(text: str) -> Rule:
    value, _, given = text.rpartition("=")
    tenant, _, role = given.partition(":")
    if not value or not tenant or role not in ROLES:
        raise InvalidError(f"TANDEM_OIDC_RULES takes VALUE=TENANT:ROLE, with a role of {', '.join(ROLES)}; not {text!r}")
    return Rule(value, tenant, role)


def account_of(claims: Mapping[str, Any]) -> Account:
    """The account that claims are about. Raises `ForbiddenError` for one that cannot be written down."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not _is_plain(subject):
        raise ForbiddenError(f"the provider's identifier of this account is not 1 to {_LONGEST_SUBJECT} printable ASCII characters")
    return Account(subject, _mail(claims) or subject[:_LONGEST_NAME])


def rule_of(rules: Sequence[Rule], claim: str, claims: Mapping[str, Any]) -> Rule:
    """The first rule whose value the claim has. Raises `ForbiddenError` where there is none."""
    held = _values(claim, claims)
    found = next((rule for rule in rules if rule.value == EVERYBODY or rule.value in held), None)
    if found is None:
        raise ForbiddenError("this account has no role here: ask the fleet's operator for one")
    return found


def _values(claim: str, claims: Mapping[str, Any]) -> frozenset[str]:
    """The claim's texts: itself, or those of its list."""
    found: Any = claims.get(claim)
    if found is None and "." in claim:
        found = claims
        for part in claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return frozenset({found})
    if not isinstance(found, list):
        return frozenset()
    if len(found) > MOST_VALUES:
        raise ForbiddenError(f"the account's claim {claim!r} has over {MOST_VALUES} values")
    return frozenset(one for one in found if isinstance(one, str))


def _mail(claims: Mapping[str, Any]) -> str:
    """The mail address if it is verified and can be shown as a name; else empty."""
    mail = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(mail, str) or "@" not in mail or len(mail) > _LONGEST_NAME:
        return ""
    return mail if _is_plain(mail) and not set(mail) & set(" ()<>\"'") else ""


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
