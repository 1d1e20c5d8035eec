import pytest

from sandbox_server.settings import BadSettings, agent_environ, load, without_secrets


def test_the_policy_decides_unless_it_is_switched_off() -> None:
    assert load({}).egress.enabled
    assert load({}).egress.policy is None
    assert not load({"EGRESS": "false"}).egress.enabled


@pytest.mark.parametrize("text", ['{"default": "deny"}', "/etc/policy.json"])
def test_a_policy_is_json_or_a_path(text: str) -> None:
    policy = load({"EGRESS_POLICY": text}).egress.policy
    assert policy is not None
    assert policy.reveal() == text


@pytest.mark.parametrize("text", ["policy.json", "[]", "deny", "/a\0b"])
def test_anything_else_is_named_without_being_shown(text: str) -> None:
    with pytest.raises(BadSettings, match="EGRESS_POLICY must be a JSON object"):
        load({"EGRESS_POLICY": text})


def test_a_policy_may_hold_an_upstreams_password_so_the_agent_never_has_it() -> None:
    environ = {"EGRESS_POLICY": '{"upstreams": {"user": "http://u:hunter2@proxy:1"}}', "EGRESS": "true"}
    assert not {"EGRESS_POLICY", "EGRESS"} & agent_environ(environ, load(environ)).keys()
    assert "EGRESS_POLICY" not in without_secrets(environ)
    assert "hunter2" not in repr(load(environ))
