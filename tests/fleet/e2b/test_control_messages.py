"""Names of fields on the wire, and what is asked for in vain."""

import json

import pytest
from pydantic import ValidationError
from tandem_fleet.e2b.control_messages import NewSandbox, OpenedSandbox


def test_names_are_those_of_e2b() -> None:
    words = ("template_id", "sandbox_id", "client_id", "envd_version", "envd_access_token", "traffic_access_token")
    sent = json.loads(OpenedSandbox(**dict.fromkeys(words, "x")).to_json())
    assert set(sent) == {"templateID", "sandboxID", "clientID", "envdVersion", "envdAccessToken", "trafficAccessToken"}


def test_no_internet_is_a_policy_and_the_templates_own_is_none() -> None:
    assert NewSandbox.model_validate({"templateID": "base", "allow_internet_access": False}).policy == {"default": "deny", "rules": []}
    closed = {"allowOut": ["a.example"], "denyOut": ["0.0.0.0/0"]}
    allowed = {"name": "allowed names", "action": "allow", "hosts": ["a.example"]}
    assert NewSandbox.model_validate({"templateID": "base", "network": closed}).policy == {"default": "deny", "rules": [allowed]}
    assert NewSandbox.model_validate({"templateID": "base", "network": None}).policy is None


@pytest.mark.parametrize("field", ["mcp", "iam", "volumeMounts"])
def test_what_is_not_kept_is_named(field: str) -> None:
    value = [{"name": "a"}] if field == "volumeMounts" else {"a": "b"}
    assert NewSandbox.model_validate({"templateID": "base", field: value}).not_kept == field
    assert not NewSandbox.model_validate({"templateID": "base", field: None, "network": {"allowPublicTraffic": False}}).not_kept


@pytest.mark.parametrize("wrong", [{}, {"templateID": ""}, {"templateID": "a", "timeout": -1}, {"templateID": "a", "timeout": 10**9}])
def test_values_have_limits(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NewSandbox.model_validate(wrong)
