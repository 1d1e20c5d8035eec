"""Every example runs as its README says, against a running container."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.image.container import Sandbox, engine

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

SHOWN = {
    "sdk_shell_and_files.py": [
        "hello world from /tmp/project - exit code 1",
        "hello sandbox from /tmp/project",
        "hello world from /tmp/project",
        "256 bytes came back",
        "False not_found",
    ],
    "sdk_side_by_side.py": [f"{number} squared is {number * number} - exit code 0" for number in range(5)],
    "mcp_client.py": ["sandbox_execute_bash: ", "hello from the sandbox"],
    "follow_output.py": [*(f"line {number}" for number in range(1, 7)), "-- the connection breaks --", "exit: exit code 7"],
    "watch_files.py": ["/tmp/watched/b.txt"],
    "command_line.sh": ["milk and bread", "I am gem", "exit code 1: sandbox: Failed to read file"],
}
"""What each example writes, among other things."""
BUILT = {"custom_image"}
"""What is built and run in tests/image/test_custom_image.py."""


@pytest.mark.parametrize("name", [name for name in SHOWN if name.endswith(".py")])
def test_an_example_shows_what_it_promises(sandbox: Sandbox, name: str) -> None:
    environment = os.environ | {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.api_key}
    done = subprocess.run([sys.executable, EXAMPLES / name], env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    for text in SHOWN[name]:
        assert text in done.stdout


def test_the_output_that_is_followed_comes_once_and_in_order(sandbox: Sandbox) -> None:
    environment = os.environ | {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.api_key}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "follow_output.py"], env=environment, capture_output=True, text=True, timeout=60, check=True
    )

    lines = [line for line in done.stdout.splitlines() if line.startswith("line")]
    assert lines == [f"line {number}" for number in range(1, 7)]


def test_the_example_of_the_command_line_runs_inside(sandbox: Sandbox) -> None:
    script = (EXAMPLES / "command_line.sh").read_bytes()
    done = engine("exec", "--interactive", "--user", "gem", sandbox.name, "bash", "-eu", stdin=script)

    assert done.code == 0, done.stderr
    for text in SHOWN["command_line.sh"]:
        assert text in done.stdout


def test_every_example_is_listed_and_run() -> None:
    files = {file.name for file in EXAMPLES.iterdir()} - {"README.md"}
    listed = {line.split("`")[1] for line in (EXAMPLES / "README.md").read_text("utf-8").splitlines() if line.startswith("| `")}

    assert files == listed == {*SHOWN, *BUILT}
