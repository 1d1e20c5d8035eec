"""The commands of `python -m sandbox_server`."""

import subprocess
import sys

import pytest

from sandbox_server import __main__ as command_line

COMMANDS = ("boot", "serve", "box", "spawn", "mcp", "guests", "hooks", "post-ready", "shutdown", "sign-in", "generate")


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
