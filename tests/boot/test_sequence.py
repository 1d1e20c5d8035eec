"""The order in which the container starts, and what stops it."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from sandbox_server.boot import accounts, sequence
from sandbox_server.boot.early_start import EarlyStart
from sandbox_server.settings import AgentSettings, AuthSettings, HooksSettings, LogsSettings, Paths, Settings
from sandbox_server.settings.kinds import Secret

NEVER = cast("EarlyStart", None)
"""A program that is not let go."""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a container whose places are all in a directory of the test; its account is as in the image."""
    monkeypatch.setattr(accounts, "SUDOERS", tmp_path / "sudoers")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    (tmp_path / "run").mkdir()
    (tmp_path / "log").mkdir()
    (tmp_path / "log").chmod(0o777)
    run = f"{tmp_path}/run"
    paths = Paths(run=f"{run}/sandbox", agent_run=f"{run}/agent", boot=f"{run}/boot", desktop=f"{run}/desktop", code=os.getcwd(), added=())
    agent = AgentSettings(workspace=f"{tmp_path}/work")
    return replace(Settings(), paths=paths, agent=agent, logs=LogsSettings(directory=f"{tmp_path}/log"))


def test_the_workspace_is_there_before_anything_that_runs_in_it(settings: Settings, tmp_path: Path) -> None:
    sequence.prepare(settings, {})
    assert (tmp_path / "work").is_dir()


def test_no_hook_runs_before_the_supervisor_does(settings: Settings, tmp_path: Path) -> None:
    note = f"touch {tmp_path}/log/ran"
    sequence.prepare(replace(settings, hooks=HooksSettings(init=note, pre_services=note)), {})
    assert not (tmp_path / "log" / "ran").exists()


def test_the_services_get_the_whole_environment_and_the_agent_a_clean_one(settings: Settings) -> None:
    given = {"SANDBOX_API_KEY": "k", "GREETING": "hello"}
    agent_environ = sequence.prepare(settings, given)
    assert json.loads(Path(settings.paths.environ).read_text()) == given
    assert json.loads(Path(settings.paths.agent_environ).read_text()) == agent_environ
    assert agent_environ["GREETING"] == "hello"
    assert "SANDBOX_API_KEY" not in agent_environ


def test_a_key_is_made_only_where_nothing_else_signs_anybody_in(settings: Settings) -> None:
    key = Path(settings.paths.run, "api-key")
    for auth in (
        AuthSettings(api_key=Secret("k")),
        AuthSettings(jwt_public_key=Secret("p")),
        AuthSettings(jwks_file="/jwks.json"),
        AuthSettings(mode="off"),
    ):
        sequence.prepare(replace(settings, auth=auth), {})
        assert not key.exists()
    sequence.prepare(settings, {})
    made = key.read_text()
    sequence.prepare(settings, {})
    assert key.read_text() == made != ""


def test_the_link_is_to_be_announced(settings: Settings) -> None:
    sequence.prepare(settings, {})
    assert Path(settings.paths.announcement).exists()


def test_bad_settings_stop_the_boot_before_anything_is_touched(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        sequence.boot({"USER_UID": "nobody", "PUBLIC_PORT": "0"}, NEVER)
    assert stopped.value.code == sequence.EXIT_BAD_SETTINGS
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["boot:", "USER_UID", "PUBLIC_PORT"]
