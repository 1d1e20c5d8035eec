import stat
from pathlib import Path

import pytest

from sandbox_server.drivers.egress.policy import Destination, OrderedRules
from sandbox_server.drivers.egress.policy_document import parse_policy
from sandbox_server.drivers.egress.protected_addresses import parse_address
from sandbox_server.egress.current_policy import MAX_GRANTS, MAX_TASKS, CurrentPolicy

TEXT = '{"default": "allow"}'


def test_the_file_is_read_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text(TEXT)
    policy = CurrentPolicy(str(path))
    assert policy.decide(Destination(22, "a")).allowed
    assert policy.address_refusal(parse_address("8.8.8.8"), Destination(22, "a")) is None
    assert policy.problem == ""


@pytest.mark.parametrize("content", [b"{", b'{"rules": 5}', b"\xff", None])
def test_a_file_that_is_no_policy_denies_everything_and_says_why(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "policy.json"
    if content is not None:
        path.write_bytes(content)
    policy = CurrentPolicy(str(path))
    assert not policy.decide(Destination(22, "a")).allowed
    assert bool(policy.problem) is (content is not None)


def test_a_policy_that_is_put_in_force_is_kept_for_the_next_process(tmp_path: Path) -> None:
    path = str(tmp_path / "policy.json")
    policy = CurrentPolicy(path)
    told: list[bool] = []
    policy.on_change = lambda: told.append(True)
    policy.replace(TEXT, parse_policy(TEXT))
    assert policy.decide(Destination(22, "a")).allowed
    assert CurrentPolicy(path).decide(Destination(22, "a")).allowed
    assert told == [True]


def test_the_file_is_for_its_group_too_which_looks_at_what_is_in_force(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    CurrentPolicy(str(path)).replace(TEXT, parse_policy(TEXT))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_policy_that_cannot_be_kept_is_not_put_in_force(tmp_path: Path) -> None:
    policy = CurrentPolicy(str(tmp_path / "none" / "policy.json"))
    with pytest.raises(FileNotFoundError):
        policy.replace(TEXT, parse_policy(TEXT))
    assert not policy.decide(Destination(22, "a")).allowed


def test_rules_hold_for_the_tasks_that_run() -> None:
    policy = CurrentPolicy()
    policy.policy = parse_policy('{"rules": [{"action": "allow", "hosts": ["a"], "task": "t"}]}')
    assert not policy.decide(Destination(22, "a")).allowed
    policy.run_tasks(["t", "", 5])
    assert policy.tasks == {"t"}
    assert policy.decide(Destination(22, "a")).allowed
    with pytest.raises(ValueError, match="at most"):
        policy.run_tasks([f"t{number}" for number in range(MAX_TASKS + 1)])


def test_temporary_rules_come_first_and_leave_the_index_of_the_document_as_it_is() -> None:
    policy = CurrentPolicy()
    document = '{"rules": [{"name": "own", "action": "deny", "hosts": ["*"]}, {"action": "deny", "cidrs": ["8.8.8.8/32"]}]}'
    policy.replace(document, parse_policy(document))
    own = policy.policy.own
    policy.grant(parse_policy('{"rules": [{"name": "g1", "action": "allow", "hosts": ["a"]}]}').own)
    assert [policy.decide(Destination(22, name)).rule for name in ("a", "b")] == ["g1", "own"]
    assert policy.policy.own is own
    policy.replace(TEXT, parse_policy(TEXT))
    assert (policy.decide(Destination(22, "a")).rule, policy.grants) == ("g1", 1)
    policy.grant(OrderedRules())
    assert (policy.decide(Destination(22, "a")).rule, policy.grants) == ("default", 0)


def test_temporary_rules_have_a_limit() -> None:
    rules = ",".join(f'{{"action": "allow", "hosts": ["a{number}"]}}' for number in range(MAX_GRANTS + 1))
    with pytest.raises(ValueError, match="at most"):
        CurrentPolicy().grant(parse_policy(f'{{"rules": [{rules}]}}').own)


def test_the_next_change_is_known() -> None:
    policy = CurrentPolicy(clock=lambda: 90.0)
    assert policy.seconds_to_change() is None
    policy.policy = parse_policy(
        '{"rules": [{"action": "allow", "hosts": ["a"], "until": 100}, {"action": "allow", "hosts": ["a"], "until": 50}]}'
    )
    assert policy.seconds_to_change() == 10


def test_the_next_change_is_that_of_temporary_rules_too() -> None:
    policy = CurrentPolicy(clock=lambda: 90.0)
    document = '{"rules": [{"action": "allow", "hosts": ["a"], "until": 100}]}'
    policy.replace(document, parse_policy(document))
    policy.grant(parse_policy('{"rules": [{"action": "allow", "hosts": ["a"], "until": 95}]}').own)
    assert policy.seconds_to_change() == 5
