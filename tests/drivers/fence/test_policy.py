"""What a caller may ask for, and what is refused before anything runs."""

import json
from dataclasses import asdict

import pytest
from pydantic import TypeAdapter, ValidationError

from sandbox_server.drivers.fence.policy import MAX_ENTRIES, IsolationPolicy, NetworkPolicy, ReadPolicy, decode
from tests.tables import table_test

GIVEN = {
    "read": {"deny": ["~/.ssh"], "allow": ["~/.ssh/config"]},
    "write": {"allow": [".", "/tmp"], "deny": [".env"]},
    "network": {"allowed_domains": ["github.com", "*.github.com", "10.0.0.1", "::1"], "denied_domains": ["gist.github.com"]},
    "env": {"allow": ["LC_*", "CI"], "deny": ["LC_ALL"]},
    "limits": {"cpu_seconds": 10, "memory_bytes": 1 << 30, "processes": 5, "open_files": 100, "file_bytes": 1000},
    "unix_sockets": True,
}
WRONG = {
    "an unknown part": {"reads": {}},
    "an unknown field": {"read": {"denied": []}},
    "the peer's own spelling": {"network": {"allowedDomains": []}},
    "a path that is no text": {"read": {"deny": [1]}},
    "an empty path": {"write": {"allow": [""]}},
    "a NUL": {"write": {"allow": ["a\0b"]}},
    "somebody else's home": {"read": {"deny": ["~root/.ssh"]}},
    "too many": {"read": {"deny": ["/x"] * (MAX_ENTRIES + 1)}},
    "a URL": {"network": {"allowed_domains": ["https://github.com"]}},
    "a port": {"network": {"allowed_domains": ["github.com:443"]}},
    "a star in the middle": {"network": {"allowed_domains": ["a.*.com"]}},
    "every host": {"network": {"allowed_domains": ["*"]}},
    "a variable with a value": {"env": {"allow": ["A=1"]}},
    "a limit of nothing": {"limits": {"processes": 0}},
    "a limit that is no number": {"limits": {"open_files": "many"}},
    "a list in place of a part": {"write": ["/tmp"]},
}


def test_a_whole_policy_is_taken_and_travels_as_json() -> None:
    policy = TypeAdapter(IsolationPolicy).validate_python(GIVEN)
    assert policy.read == ReadPolicy(deny=("~/.ssh",), allow=("~/.ssh/config",))
    assert decode(json.loads(json.dumps(asdict(policy)))) == policy


def test_an_empty_policy_restricts_no_part() -> None:
    policy = TypeAdapter(IsolationPolicy).validate_python({})
    assert policy == IsolationPolicy() == decode(asdict(policy))
    assert decode({"network": {}}).network == NetworkPolicy()


@table_test(WRONG)
def test_what_is_no_policy_is_refused(given: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(IsolationPolicy).validate_python(given)


def test_what_is_no_policy_on_the_wire_is_refused() -> None:
    with pytest.raises(TypeError):
        decode({"reads": {}})
    with pytest.raises(ValueError, match="home"):
        decode({"read": {"deny": ["~root"]}})
