"""The agent's account becomes what the settings ask for."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_server.boot.accounts import allow_root, changes, without_root
from sandbox_server.settings import AgentSettings, load


@dataclass(frozen=True)
class Account:
    """A line of /etc/passwd."""

    pw_name: str = "gem"
    pw_uid: int = 1000
    pw_gid: int = 1000


def test_the_account_of_the_image_needs_no_change() -> None:
    assert changes(Account(), AgentSettings()) == []


def test_other_ids_are_given_to_the_account_and_may_be_shared() -> None:
    assert changes(Account(), AgentSettings(uid=501, gid=20)) == [
        ["groupmod", "--non-unique", "--gid", "20", "gem"],
        ["find", "/home/gem", "-xdev", "-gid", "1000", "-exec", "chgrp", "--no-dereference", "20", "{}", "+"],
        ["usermod", "--non-unique", "--uid", "501", "gem"],
    ]


def test_another_name_moves_the_home_before_the_ids_change() -> None:
    commands = changes(Account(), AgentSettings(user="ada", uid=1001))
    assert [command[0] for command in commands] == ["groupmod", "usermod", "usermod"]
    assert commands[1] == ["usermod", "--login", "ada", "--home", "/home/ada", "--move-home", "gem"]
    assert commands[2][-1] == "ada"


def test_a_restart_changes_nothing() -> None:
    assert changes(Account("ada", 1001, 1000), AgentSettings(user="ada", uid=1001)) == []


def test_sudo_is_allowed_by_a_file_that_sudo_accepts(tmp_path: Path) -> None:
    sudoers = tmp_path / "agent"
    allow_root(AgentSettings(user="ada"), sudoers)
    assert sudoers.read_text() == "ada ALL=(ALL:ALL) NOPASSWD: ALL\n"
    assert sudoers.stat().st_mode & 0o777 == 0o440


def test_a_rule_that_is_right_already_is_not_written(tmp_path: Path) -> None:
    sudoers = tmp_path / "agent"
    allow_root(AgentSettings(), sudoers)
    before = sudoers.stat().st_ino
    allow_root(AgentSettings(), sudoers)
    assert sudoers.stat().st_ino == before


def test_sudo_is_taken_away_again(tmp_path: Path) -> None:
    sudoers = tmp_path / "agent"
    allow_root(AgentSettings(), sudoers)
    allow_root(AgentSettings(sudo=False), sudoers)
    assert not sudoers.exists()
    allow_root(AgentSettings(sudo=False), sudoers)


def test_without_root_the_agent_is_whoever_started_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    monkeypatch.setattr(os, "getegid", lambda: 0)
    agent = load(without_root(AgentSettings())).agent
    assert (agent.user, agent.uid, agent.gid, agent.sudo) == ("gem", 1234, 0, False)
