import json

import pytest

from sandbox_server import settings as declared
from sandbox_server.settings import BadSettings
from sandbox_server.settings.secrets import placeholder_of

ENTRY = {"source": {"env": "API_TOKEN"}, "variable": "TOKEN", "bindings": [{"hosts": ["a.example"]}]}


KEY = "the key of the container"


def agent_environ(given: dict[str, str]) -> dict[str, str]:
    settings = declared.load(given)
    return declared.agent_environ(given, settings, settings.secrets.placeholders(KEY))


def environ(**entries: object) -> dict[str, str]:
    return {"SECRETS": json.dumps(entries), "API_TOKEN": "the-real-value", "OTHER": "x"}


def test_the_agent_gets_a_placeholder_and_never_the_variable_with_the_value() -> None:
    given = environ(GITHUB=ENTRY)
    agent = agent_environ(given)
    assert agent["TOKEN"] == placeholder_of("GITHUB", KEY)
    assert agent["OTHER"] == "x"
    assert "the-real-value" not in json.dumps(agent)
    assert declared.without_secrets(given) == {"OTHER": "x"}


def test_the_placeholder_may_take_the_place_of_its_own_variable() -> None:
    given = environ(GITHUB={**ENTRY, "variable": "API_TOKEN", "placeholder": "ghp_000000000000"})
    assert agent_environ(given)["API_TOKEN"] == "ghp_000000000000"


def test_a_placeholder_is_another_of_every_name_and_in_every_container() -> None:
    assert placeholder_of("A", KEY) == placeholder_of("A", KEY)
    assert len({placeholder_of("A", KEY), placeholder_of("B", KEY), placeholder_of("A", "another key")}) == 3


@pytest.mark.parametrize("text", ["[]", "{", '{"a b": {}}', '{"A": 1}', "x"])
def test_malformed_declarations_name_the_variable_and_repeat_nothing(text: str) -> None:
    with pytest.raises(BadSettings, match="SECRETS must be"):
        declared.load({"SECRETS": text})
