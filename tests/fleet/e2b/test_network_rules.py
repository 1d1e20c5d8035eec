"""E2B's rules as a network policy."""

from typing import Any

import pytest
from tandem_fleet.e2b.network_rules import NetworkRules
from tandem_fleet.errors import InvalidError


def read(**fields: Any) -> NetworkRules:
    """The rules of a request."""
    return NetworkRules.model_validate(fields)


def test_without_rules_everything_is_allowed_and_nothing_is_given() -> None:
    assert (read().policy(), read().are_given) == ({"default": "allow", "rules": []}, False)
    assert read(allowOut=None, denyOut=[]).are_given is False


def test_what_is_allowed_precedes_what_is_denied() -> None:
    policy = read(allowOut=["10.1.0.0/16", "*.Example.com", "8.8.8.8"], denyOut=["10.0.0.0/8", "1.1.1.1"]).policy()
    assert policy == {
        "default": "allow",
        "rules": [
            {"name": "allowed names", "action": "allow", "hosts": ["*.example.com"]},
            {"name": "allowed networks", "action": "allow", "cidrs": ["10.1.0.0/16", "8.8.8.8/32"]},
            {"name": "denied networks", "action": "deny", "cidrs": ["10.0.0.0/8", "1.1.1.1/32"]},
        ],
    }


@pytest.mark.parametrize("fields", [{"denyOut": ["0.0.0.0/0"]}, {"allow_internet_access": False}])
def test_the_whole_internet_that_is_denied_is_a_policy_of_names(fields: dict[str, Any]) -> None:
    rules = read(allowOut=["pypi.org"], **fields)
    assert rules.are_given
    assert rules.policy() == {"default": "deny", "rules": [{"name": "allowed names", "action": "allow", "hosts": ["pypi.org"]}]}


@pytest.mark.parametrize(
    "fields",
    [
        {"denyOut": ["evil.example"]},
        {"allowOut": ["*"]},
        {"allowOut": ["a..b"]},
        {"allowOut": ["http://a"]},
        {"allowOut": ["a.*.b"]},
        {"allowOut": ["é.example"]},
    ],
)
def test_what_is_no_destination_is_named(fields: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidError, match="takes"):
        read(**fields).policy()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"dnsServers": ["1.1.1.1"]}, "network.dnsServers"),
        ({"egressProxy": {"address": "a:1"}}, "network.egressProxy"),
        ({"rules": {"a.example": []}}, "network.rules"),
        ({"allowPublicTraffic": False}, ""),
    ],
)
def test_what_the_fleet_does_not_do_is_named(fields: dict[str, Any], name: str) -> None:
    assert read(**fields).not_kept == name
