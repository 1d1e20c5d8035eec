"""Who may come in, as variables say."""

import pytest

from sandbox_server.settings import Auth, BadSettings, load


def test_nobody_comes_in_without_a_key_unless_that_was_said() -> None:
    assert (Auth().mode, load({"AUTH": "off"}).auth.mode) == ("on", "off")


def test_an_empty_key_is_none() -> None:
    assert load({"SANDBOX_API_KEY": ""}).auth.api_key is None


@pytest.mark.parametrize(("name", "value"), [("AUTH", "maybe"), ("JWT_JWKS_URL", "no url"), ("TICKET_TTL_SECONDS", "0")])
def test_a_bad_value_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=name):
        load({name: value})
