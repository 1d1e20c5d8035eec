"""The spawner's command line."""

import subprocess
import sys

PROGRAM = [sys.executable, "-c", "import sys; from sandbox_server.drivers.spawn.main import main; main(sys.argv[1:])"]


def test_the_spawner_names_its_missing_arguments() -> None:
    done = subprocess.run(PROGRAM, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "the following arguments are required: --socket, --environment" in done.stderr


def test_an_account_that_does_not_exist_ends_it() -> None:
    arguments = ["--socket", "/nowhere/spawn.sock", "--environment", "/dev/null"]
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, check=False)

    assert done.returncode == 1


def test_the_spawner_loads_nothing_that_would_make_each_of_its_forks_dearer() -> None:
    heavy = {"asyncio", "logging", "pydantic", "pydantic_core", "ssl", "subprocess"}
    listed = "import sys; import sandbox_server.drivers.spawn.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)

    assert heavy & set(done.stdout.split()) == set()
