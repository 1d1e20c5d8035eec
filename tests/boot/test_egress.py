import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import trusted_files
from sandbox_server.boot.egress import prepare
from sandbox_server.drivers.egress.default_policy import DEFAULT_POLICY
from sandbox_server.settings import AgentSettings, BadSettings, Paths, Settings, load
from sandbox_server.settings.egress import EgressSettings
from sandbox_server.settings.kinds import Secret

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which needs root")

DENY = '{"default": "deny"}'

Configured = Callable[[str | None], Settings]


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    def made(policy: str | None) -> Settings:
        secret = None if policy is None else Secret(policy)
        paths, agent = Paths(egress=f"{tmp_path}/egress"), AgentSettings(workspace=f"{tmp_path}/work")
        return replace(Settings(), paths=paths, agent=agent, egress=EgressSettings(policy=secret))

    return made


def access(path: str) -> tuple[int, int, int]:
    """Owner, group and mode."""
    found = os.stat(path)
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def in_force(settings: Settings) -> str:
    return Path(settings.paths.egress_policy).read_text()


def test_the_process_and_control_share_a_directory_that_nobody_else_enters(configured: Configured) -> None:
    settings = configured(None)
    prepare(settings)
    assert access(settings.paths.egress) == (992, 990, 0o2750)
    assert access(settings.paths.egress_policy) == (992, 990, 0o640)


def test_without_a_policy_the_visible_default_is_in_force(configured: Configured) -> None:
    prepare(configured(None))
    assert in_force(configured(None)) == DEFAULT_POLICY


def test_a_policy_is_taken_from_the_variable_or_from_a_file(configured: Configured, tmp_path: Path) -> None:
    prepare(configured(DENY))
    assert in_force(configured(DENY)) == DENY
    (tmp_path / "policy.json").write_text('{"default": "allow"}')
    prepare(configured(f"{tmp_path}/policy.json"))
    assert json.loads(in_force(configured(None))) == {"default": "allow"}


def test_what_was_changed_since_lasts_over_a_restart_until_the_configuration_changes(configured: Configured) -> None:
    prepare(configured(DENY))
    Path(configured(DENY).paths.egress_policy).write_text('{"mode": "learn"}')
    prepare(configured(DENY))
    assert in_force(configured(DENY)) == '{"mode": "learn"}'
    prepare(configured(None))
    assert in_force(configured(None)) == DEFAULT_POLICY


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "EGRESS_POLICY not JSON"),
        ('{"rules": [{"action": "permit", "hosts": ["a.example"]}]}', "EGRESS_POLICY/rules/0/action must be one of"),
        ('{"default": "maybe", "rule": []}', "EGRESS_POLICY/rule unknown field"),
    ],
)
def test_a_policy_that_does_not_parse_stops_the_start_and_is_named_with_its_place(configured: Configured, text: str, message: str) -> None:
    with pytest.raises(BadSettings) as caught:
        prepare(configured(text))
    assert message in str(caught.value)
    assert not os.path.exists(configured(text).paths.egress_policy)


def test_a_file_that_cannot_be_read_is_named(configured: Configured, tmp_path: Path) -> None:
    for path, reason in ((f"{tmp_path}/none", "No such file"), (str(tmp_path), "directory"), ("/dev/null", "no regular file")):
        with pytest.raises(BadSettings, match=reason):
            prepare(configured(path))
    (tmp_path / "latin").write_bytes(b'{"default": "\xff"}')
    with pytest.raises(BadSettings, match="not UTF-8"):
        prepare(configured(f"{tmp_path}/latin"))


def test_a_file_that_programs_in_the_box_could_change_is_refused(
    configured: Configured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/policy.json").write_text(DENY)
    with pytest.raises(BadSettings, match="mount it read-only"):
        prepare(configured(f"{tmp_path}/work/policy.json"))
    (tmp_path / "policy.json").write_text(DENY)
    monkeypatch.setattr(trusted_files, "_mount_of", lambda _: str(tmp_path))
    with pytest.raises(BadSettings, match="mount it read-only"):
        prepare(configured(f"{tmp_path}/policy.json"))


def test_the_default_document_is_a_policy() -> None:
    assert load({"EGRESS_POLICY": DEFAULT_POLICY}).egress.policy is not None
