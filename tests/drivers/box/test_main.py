"""The box daemon's command line."""

import subprocess
import sys

PROGRAM = [sys.executable, "-c", "import sys; from sandbox_server.drivers.box.main import serve; serve(sys.argv[1:])"]


def test_the_daemon_names_its_missing_arguments() -> None:
    done = subprocess.run(PROGRAM, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "the following arguments are required: --socket, --store, --record, --agent-run" in done.stderr


def test_the_daemon_loads_nothing_that_would_make_it_heavy() -> None:
    heavy = {"asyncio", "logging", "pydantic", "ssl", "subprocess", "idna"}
    listed = "import sys; import sandbox_server.drivers.box.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)

    assert heavy & set(done.stdout.split()) == set()
