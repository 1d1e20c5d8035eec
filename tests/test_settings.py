"""The settings of the container: each variable once, checked, documented, and scrubbed from what the agent sees."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_server.settings import BadSettings, Settings, ShutdownHook, agent_environ, load, load_written, secret_variables, variables


def test_nothing_set_is_valid_and_gives_the_defaults() -> None:
    settings = load({})
    assert settings == Settings()
    assert (settings.agent.user, settings.agent.uid, settings.agent.workspace) == ("gem", 1000, "/home/gem")
    assert settings.gateway.port == 8080


def test_the_workspace_follows_the_user_unless_it_is_said() -> None:
    assert load({"USER": "ada"}).agent.workspace == "/home/ada"
    assert load({"USER": "ada", "WORKSPACE": "/work"}).agent.workspace == "/work"


def test_every_bad_value_is_named_at_once() -> None:
    with pytest.raises(BadSettings) as caught:
        load({"PUBLIC_PORT": "eighty", "USER_UID": "0", "AUTH": "perhaps", "TZ": "Mars/Olympus"})
    lines = str(caught.value).splitlines()
    assert [line.split()[0] for line in lines] == ["USER_UID", "TZ", "PUBLIC_PORT", "AUTH"]


def test_a_bad_secret_is_named_without_being_shown() -> None:
    with pytest.raises(BadSettings) as caught:
        load({"JWT_PUBLIC_KEY": "c2VjcmV0IHN0dWZm"})
    assert "JWT_PUBLIC_KEY" in str(caught.value)
    assert "c2VjcmV0" not in str(caught.value)


@pytest.mark.parametrize("uid", ["990", "991"])
def test_the_agent_cannot_be_one_of_the_sandboxs_own_users(uid: str) -> None:
    with pytest.raises(BadSettings, match="USER_UID"):
        load({"USER_UID": uid})


def test_a_group_of_zero_is_allowed_because_some_platforms_run_everything_in_it() -> None:
    assert load({"USER_GID": "0"}).agent.gid == 0


def test_a_component_is_disabled_by_its_name() -> None:
    settings = load({"DISABLE_CODE_SERVER": "true", "DISABLE_MCP": "1", "DISABLE_JUPYTER": "false", "DISABLE_VNC": ""})
    assert settings.components.disabled == {"code-server", "mcp"}


def test_a_bad_switch_for_a_component_is_refused() -> None:
    with pytest.raises(BadSettings, match="DISABLE_"):
        load({"DISABLE_MCP": "perhaps"})


def test_a_shutdown_hook_may_be_a_bare_command() -> None:
    assert load({"SANDBOX_SHUTDOWN_HOOKS": "make clean"}).hooks.shutdown == (ShutdownHook("env", "make clean"),)


def test_shutdown_hooks_may_be_a_list() -> None:
    text = '[{"name": "save", "command": "sync", "timeout": 2, "priority": 1}, {"name": "say", "command": "echo bye"}]'
    assert load({"SANDBOX_SHUTDOWN_HOOKS": text}).hooks.shutdown == (ShutdownHook("save", "sync", 2, 1), ShutdownHook("say", "echo bye"))


@pytest.mark.parametrize("text", ["[", '[{"name": "x"}]', '["ls"]', '[{"name": "x", "command": "y", "when": 1}]'])
def test_a_malformed_list_of_hooks_is_refused(text: str) -> None:
    with pytest.raises(BadSettings, match="SANDBOX_SHUTDOWN_HOOKS"):
        load({"SANDBOX_SHUTDOWN_HOOKS": text})


def test_the_agent_gets_what_was_given_to_the_container_and_nothing_of_ours() -> None:
    given = {
        "SANDBOX_API_KEY": "k",
        "JWT_PUBLIC_KEY": "p",
        "SANDBOX_SHUTDOWN_HOOKS": "x",
        "DISABLE_MCP": "1",
        "GITHUB_TOKEN": "gh",
        "PIP_INDEX_URL": "i",
        "TZ": "Europe/Berlin",
        "HOME": "/root",
    }
    environ = agent_environ(given, load({"WORKSPACE": "/work", "TZ": "Europe/Berlin"}))
    assert {"GITHUB_TOKEN": "gh", "PIP_INDEX_URL": "i", "TZ": "Europe/Berlin"}.items() <= environ.items()
    assert (environ["HOME"], environ["USER"], environ["WORKSPACE"]) == ("/home/gem", "gem", "/work")
    assert not {"SANDBOX_API_KEY", "JWT_PUBLIC_KEY", "SANDBOX_SHUTDOWN_HOOKS", "DISABLE_MCP"} & environ.keys()


def test_no_secret_is_inherited() -> None:
    assert [known.name for _, known in variables() if known.kind.label == "secret" and known.inherited] == []


def test_importing_the_settings_brings_in_nothing_heavy() -> None:
    heavy = {"pydantic", "starlette", "asyncio", "ssl", "supervisor", "logging"}
    code = f"import sys; import sandbox_server.settings; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_settings_come_from_the_environment_that_boot_wrote_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "environ.json"
    written.write_text(json.dumps({"PUBLIC_PORT": "9000"}))
    monkeypatch.setenv("PUBLIC_PORT", "7000")
    assert load_written(str(written)).gateway.port == 9000


def test_without_one_this_processs_own_environment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_PORT", "7000")
    assert load_written(f"{tmp_path}/environ.json").gateway.port == 7000
    monkeypatch.setenv("PUBLIC_PORT", "none")
    with pytest.raises(BadSettings):
        load_written(f"{tmp_path}/environ.json")


def test_the_variables_that_hold_a_secret_are_named() -> None:
    declared = '{"API": {"source": {"env": "REAL_TOKEN"}, "variable": "API_TOKEN", "hosts": ["api.example"]}}'
    given = {"SANDBOX_API_KEY": "k", "SECRETS": declared, "REAL_TOKEN": "t", "WORKSPACE": "/tmp"}
    assert {"SANDBOX_API_KEY", "REAL_TOKEN"} <= set(secret_variables(load(given)))
    assert secret_variables(load({"WORKSPACE": "/tmp"})) == []
