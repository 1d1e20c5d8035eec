"""Who may come in, as variables say."""

import pytest

from sandbox_server.settings import AuthSettings, BadSettings, load


def test_nobody_comes_in_without_a_key_unless_that_was_said() -> None:
    assert (AuthSettings().mode, load({"AUTH": "off"}).auth.mode) == ("on", "off")


def test_an_empty_key_is_none() -> None:
    assert load({"SANDBOX_API_KEY": ""}).auth.api_key is None


@pytest.mark.parametrize(
    ("name", "value"), [("AUTH", "maybe"), ("JWT_JWKS_URL", "no url"), ("TICKET_TTL_SECONDS", "0"), ("AGENT_PROFILES", "Mail")]
)
def test_a_bad_value_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=name):
        load({name: value})


def test_the_agent_s_profiles_are_patterns() -> None:
    assert load({}).auth.agent_profiles is None
    assert load({"AGENT_PROFILES": "default, work-*"}).auth.agent_profiles == ("default", "work-*")


def test_names_and_origins_are_lists() -> None:
    auth = load(
        {"ALLOWED_HOSTS": "Sandbox, *.lab.example", "ALLOWED_ORIGINS": "https://App.example:443 http://localhost:9123,http://[::1]"}
    ).auth
    assert auth.hosts == ("sandbox", "*.lab.example")
    assert auth.origins == ("https://app.example", "http://localhost:9123", "http://[::1]")
    assert (load({}).auth.hosts, load({}).auth.origins) == ((), ())


@pytest.mark.parametrize("value", ["*", "a b/", "box:8080", "http://box", "*.*.x", "-x", 'a"b', "[::1]"])
def test_what_is_no_name_of_a_host_is_refused(value: str) -> None:
    with pytest.raises(BadSettings, match="ALLOWED_HOSTS"):
        load({"ALLOWED_HOSTS": value})


@pytest.mark.parametrize(
    "value",
    [
        "*",
        "null",
        "https://*",
        "https://*.example.org",
        "app.example.org",
        "https://app/",
        "ftp://a",
        'https://a";}',
        "https://a b:1 ;",
        "file://",
    ],
)
def test_what_is_no_origin_is_refused(value: str) -> None:
    with pytest.raises(BadSettings, match="ALLOWED_ORIGINS"):
        load({"ALLOWED_ORIGINS": value})


def test_the_agents_key_is_not_the_owners() -> None:
    assert load({"SANDBOX_API_KEY": "a", "SANDBOX_AGENT_KEY": "b"}).auth.agent_key is not None
    with pytest.raises(BadSettings, match="SANDBOX_AGENT_KEY is the same as SANDBOX_API_KEY"):
        load({"SANDBOX_API_KEY": "a", "SANDBOX_AGENT_KEY": "a"})
