"""`scripts/run` says little: what matters while all goes well, and the end of the build's log if it does not. The engine is a stand-in."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
ENGINE = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$1 $2 $4" in
  "--version "*) echo "Docker version 1" ;;
  "container inspect "*) [ -n "$EARLIER" ] ;;
  "exec "*" /run/sandbox/isolation.json") echo "{\\"level\\": \\"box\\", \\"storage\\": \\"$STORAGE\\"}" ;;
  "exec "*" sign-in") echo "$6/?ticket=tk-1" ;;
  "exec "*" -e") ;;
  "exec "*) echo the-key ;;
  "run "*) echo "$SANDBOX_AGENT_KEY $SANDBOX_API_KEY" > "${CALLS%/*}/keys" ;;
esac
"""


class Ready(BaseHTTPRequestHandler):
    """Is ready."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def port() -> Iterator[int]:
    """Where the gateway of the container answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Ready) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def run(folder: Path, port: int, build: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it beside a build and an engine that are stand-ins, from a directory of its own.

    `STORAGE` is what the container says of its files; with `EARLIER` there is a container of an earlier run.
    """
    scripts = folder / "scripts"
    scripts.mkdir()
    shutil.copy(SCRIPTS / "run", scripts / "run")
    engine = folder / "docker"
    for file, text in ((engine, ENGINE), (scripts / "build", f"#!/bin/sh\n{build}\n"), (scripts / "engine", f"#!/bin/sh\necho {engine}\n")):
        file.write_text(text)
        file.chmod(0o755)
    told = {"CALLS": str(folder / "calls"), "STORAGE": "volume", "EARLIER": "", **variables}
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "PORT": str(port), "TMPDIR": str(folder), **told}
    (folder / "here").mkdir()
    return subprocess.run([scripts / "run"], env=environment, cwd=folder / "here", capture_output=True, text=True, timeout=60, check=False)


def calls(folder: Path, *kinds: str) -> list[str]:
    """What the engine was asked of some kinds, in order."""
    return [line for line in (folder / "calls").read_text().splitlines() if line.split()[0] in kinds]


def files_of(done: subprocess.CompletedProcess[str]) -> str:
    """What is said of the agent's files."""
    (line,) = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("Files ")]
    return line.removeprefix("Files").strip()


def test_a_build_that_goes_well_is_not_told_of_and_what_matters_is(tmp_path: Path, port: int) -> None:
    done = run(tmp_path, port, "for n in $(seq 300); do echo '#12 [runtime 3/80] RUN it'; done")

    assert done.returncode == 0, done.stderr
    assert done.stderr == "run: starting the container tandem\n"
    lines = [line.strip() for line in done.stdout.splitlines() if line]
    assert len(lines) <= 13
    assert f"Sign in (works once)    http://127.0.0.1:{port}/?ticket=tk-1" in lines
    assert f"Watch                   http://127.0.0.1:{port}/view" in lines
    assert "Key for your agent      the-key" in lines
    assert "The owner's key         docker exec tandem cat /run/sandbox/api-key" in lines
    assert "Stop                    docker stop tandem" in lines
    assert not list(tmp_path.glob("tandem-build.*"))


def test_a_build_that_fails_is_told_by_the_end_of_its_log(tmp_path: Path, port: int) -> None:
    done = run(tmp_path, port, "for n in $(seq 300); do echo line $n; done; exit 1")

    assert (done.returncode, done.stdout) == (1, "")
    assert "line 300\n" in done.stderr
    assert "line 200\n" not in done.stderr
    assert "run: the image was not built; the whole log is" in done.stderr
    assert [log.read_text().splitlines()[0] for log in tmp_path.glob("tandem-build.*")] == ["line 1"]


VOLUME = "in the volume {0}; to delete them: docker rm --force {1}; docker volume rm {0}"
DIRECTORY = "in {0}; to delete them: docker rm --force tandem, then the directory"


@pytest.mark.parametrize(
    ("variables", "mounted", "said"),
    [
        ({}, "tandem-home", VOLUME.format("tandem-home", "tandem")),
        ({"NAME": "second"}, "second-home", VOLUME.format("second-home", "second")),
        ({"VOLUME": "mine"}, "mine", VOLUME.format("mine", "tandem")),
        ({"VOLUME": "/srv/agent"}, "/srv/agent", DIRECTORY.format("/srv/agent")),
        ({"VOLUME": "kept/agent"}, "HERE/kept/agent", DIRECTORY.format("HERE/kept/agent")),
        ({"STORAGE": "memory"}, "tandem-home", "they go with the container"),
        ({"VOLUME": "", "STORAGE": "container"}, None, "they go with the container"),
        ({"VOLUME": ""}, None, "where you mounted /sandbox"),
    ],
)
def test_files_and_checkpoints_are_in_a_volume_and_it_says_which(
    tmp_path: Path, port: int, variables: dict[str, str], mounted: str | None, said: str
) -> None:
    done = run(tmp_path, port, **variables)

    here = str(tmp_path / "here")
    assert done.returncode == 0, done.stderr
    assert files_of(done) == said.replace("HERE", here)
    (started,) = calls(tmp_path, "run")
    if mounted is None:
        assert "--volume" not in started
    else:
        assert f" --volume {mounted.replace('HERE', here)}:/sandbox " in started


def test_a_container_of_an_earlier_run_may_write_what_it_has_before_it_is_removed(tmp_path: Path, port: int) -> None:
    done = run(tmp_path, port, EARLIER="1")

    assert done.stderr.splitlines()[0] == "run: stopping and removing the container tandem of an earlier run"
    assert [call.split()[0] for call in calls(tmp_path, "stop", "rm", "run")] == ["stop", "rm", "run"]
    assert calls(tmp_path, "rm") == ["rm --force tandem"], "and not its volumes"


def test_where_it_does_not_become_ready_it_says_where_the_files_are(tmp_path: Path) -> None:
    done = run(tmp_path, 1)

    assert (done.returncode, done.stdout) == (1, "")
    assert "run: the agent's files are in tandem-home; VOLUME=another begins with none\n" in done.stderr


def test_the_agents_key_and_the_owners_are_two_and_the_owners_is_not_shown(tmp_path: Path, port: int) -> None:
    done = run(tmp_path, port, SANDBOX_API_KEY="agents", SANDBOX_OWNER_KEY="owners")

    (started,) = calls(tmp_path, "run")
    assert " --env SANDBOX_API_KEY --env SANDBOX_AGENT_KEY " in f" {started} "
    assert (tmp_path / "keys").read_text() == "agents owners\n"
    assert "owners" not in done.stdout
    assert "The owner's key         what SANDBOX_OWNER_KEY says" in done.stdout


def test_without_keys_the_container_makes_both(tmp_path: Path, port: int) -> None:
    run(tmp_path, port)

    (started,) = calls(tmp_path, "run")
    assert "KEY" not in started
