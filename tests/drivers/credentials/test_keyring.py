"""The sandbox's own secrets."""

import os
from pathlib import Path

import pytest

from sandbox_server.drivers.credentials.agent_keys import is_agent_key
from sandbox_server.drivers.credentials.keyring import Keyring

ME = (os.getuid(), os.getgid())


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    (tmp_path / "run").mkdir()
    (tmp_path / "agent").mkdir()
    return Keyring(str(tmp_path / "run"), str(tmp_path / "agent"))


def test_secrets_are_long_and_unlike(keyring: Keyring) -> None:
    keyring.prepare(ME, ME, with_api_key=True)
    secrets = {keyring.read(name) for name in ("session-key", "api-key", "agent-token")}
    assert len(secrets) == 3
    assert all(secret and len(secret) >= 43 for secret in secrets)


def test_no_api_key_is_made_where_the_settings_have_one(keyring: Keyring) -> None:
    keyring.prepare(ME, ME, with_api_key=False)
    assert keyring.read("api-key") is None


def test_a_restart_keeps_keys_and_renews_the_agents_token(keyring: Keyring) -> None:
    keyring.prepare(ME, ME, with_api_key=True)
    before = {name: keyring.read(name) for name in ("session-key", "api-key", "agent-token")}
    keyring.prepare(ME, ME, with_api_key=True)
    after = {name: keyring.read(name) for name in ("session-key", "api-key", "agent-token")}
    assert after["session-key"] == before["session-key"]
    assert after["api-key"] == before["api-key"]
    assert after["agent-token"] != before["agent-token"]


def test_the_key_of_the_placeholders_is_kept_over_a_restart_and_is_each_containers_own(keyring: Keyring, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        keyring.placeholder_key()
    keyring.prepare(ME, ME, with_api_key=False)
    before = keyring.placeholder_key()
    keyring.prepare(ME, ME, with_api_key=False)
    assert keyring.placeholder_key() == before
    (tmp_path / "another").mkdir()
    another = Keyring(str(tmp_path / "another"), str(tmp_path / "agent"))
    another.prepare(ME, ME, with_api_key=False)
    assert another.placeholder_key() != before


def test_only_the_agents_token_is_for_its_group(keyring: Keyring, tmp_path: Path) -> None:
    keyring.prepare(ME, ME, with_api_key=True)
    assert (tmp_path / "agent/token").read_text().strip() == keyring.read("agent-token")
    assert (tmp_path / "agent/token").stat().st_mode & 0o777 == 0o640
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "run").iterdir() if file.is_file()} == {0o600}


def test_root_gives_the_files_to_the_users_they_are_for(keyring: Keyring, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    keyring.prepare((990, 990), (1000, 1000), with_api_key=True)
    assert (tmp_path / "run/api-key").stat().st_uid == 990
    assert (tmp_path / "run/tickets").stat().st_uid == 990
    token = (tmp_path / "agent/token").stat()
    assert (token.st_uid, token.st_gid) == (0, 1000)


def test_the_agents_key_is_made_once_and_kept(keyring: Keyring, tmp_path: Path) -> None:
    keyring.keep_agent_key(ME, None)
    made = keyring.read("agent-key")
    keyring.keep_agent_key(ME, None)
    assert made
    assert is_agent_key(made)
    assert keyring.read("agent-key") == made
    assert (tmp_path / "run/agent-key").stat().st_mode & 0o777 == 0o600


def test_the_agents_key_is_the_one_that_is_given_and_another_takes_its_place(keyring: Keyring) -> None:
    keyring.keep_agent_key(ME, None)
    keyring.keep_agent_key(ME, "given")
    written = keyring.agent_key.stat().st_ino
    keyring.keep_agent_key(ME, "given")
    assert (keyring.read("agent-key"), keyring.agent_key.stat().st_ino) == ("given", written)
    keyring.keep_agent_key(ME, "other")
    assert keyring.read("agent-key") == "other"
