"""The commands of `python -m sandbox_server`."""

import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server import __main__ as command_line
from sandbox_server.settings import BadSettings, Paths

COMMANDS = ("boot", "serve", "box", "spawn", "mcp", "post-ready", "shutdown", "sign-in", "generate")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_says_what_it_does(name: str) -> None:
    options = command_line.parser().parse_args([name])
    assert options.run.__doc__


def test_an_unknown_command_is_refused() -> None:
    done = subprocess.run([sys.executable, "-m", "sandbox_server", "fly"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "invalid choice: 'fly'" in done.stderr


def test_bad_settings_stop_the_boot_with_the_name_of_the_variable() -> None:
    environ = {"PUBLIC_PORT": "eighty", "SANDBOX_API_KEY": "hunter2"}
    done = subprocess.run([sys.executable, "-m", "sandbox_server", "boot"], capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["boot: the settings are wrong:", "PUBLIC_PORT must be a whole number from 1 to 65535"]


def test_settings_come_from_the_environment_that_boot_wrote_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "environ.json").write_text(json.dumps({"PUBLIC_PORT": "9000"}))
    monkeypatch.setattr(command_line, "Paths", lambda: replace(Paths(), run=str(tmp_path)))
    monkeypatch.setenv("PUBLIC_PORT", "7000")
    assert command_line.load().gateway.port == 9000


def test_without_one_this_processs_own_environment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_line, "Paths", lambda: replace(Paths(), run=str(tmp_path)))
    monkeypatch.setenv("PUBLIC_PORT", "7000")
    assert command_line.load().gateway.port == 7000
    monkeypatch.setenv("PUBLIC_PORT", "none")
    with pytest.raises(BadSettings):
        command_line.load()


def test_waiting_ends_when_the_socket_is_there(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    waiting = threading.Thread(target=command_line.wait_for, args=(str(path),))
    waiting.start()
    assert waiting.is_alive()
    path.touch()
    waiting.join(5)
    assert not waiting.is_alive()
