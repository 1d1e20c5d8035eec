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
case "$1 $2" in
  "--version "*) echo "Docker version 1" ;;
  "container inspect") exit 1 ;;
  "exec tandem") if [ "$3" = sandbox ]; then echo "$6/?ticket=tk-1"; else echo the-key; fi ;;
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


def run(folder: Path, port: int, build: str) -> subprocess.CompletedProcess[str]:
    """Run it beside a build and an engine that are stand-ins."""
    scripts = folder / "scripts"
    scripts.mkdir()
    shutil.copy(SCRIPTS / "run", scripts / "run")
    engine = folder / "docker"
    for file, text in ((engine, ENGINE), (scripts / "build", f"#!/bin/sh\n{build}\n"), (scripts / "engine", f"#!/bin/sh\necho {engine}\n")):
        file.write_text(text)
        file.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "PORT": str(port), "TMPDIR": str(folder)}
    return subprocess.run([scripts / "run"], env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_build_that_goes_well_is_not_told_of_and_what_matters_is(tmp_path: Path, port: int) -> None:
    done = run(tmp_path, port, "for n in $(seq 300); do echo '#12 [runtime 3/80] RUN it'; done")

    assert done.returncode == 0, done.stderr
    assert done.stderr == "run: starting the container tandem\n"
    lines = [line.strip() for line in done.stdout.splitlines() if line]
    assert len(lines) <= 11
    assert f"Sign in (works once)    http://127.0.0.1:{port}/?ticket=tk-1" in lines
    assert f"Watch                   http://127.0.0.1:{port}/view" in lines
    assert "Key                     the-key" in lines
    assert "Stop                    docker rm --force tandem" in lines
    assert not list(tmp_path.glob("tandem-build.*"))


def test_a_build_that_fails_is_told_by_the_end_of_its_log(tmp_path: Path, port: int) -> None:
    done = run(tmp_path, port, "for n in $(seq 300); do echo line $n; done; exit 1")

    assert (done.returncode, done.stdout) == (1, "")
    assert "line 300\n" in done.stderr
    assert "line 200\n" not in done.stderr
    assert "run: the image was not built; the whole log is" in done.stderr
    assert [log.read_text().splitlines()[0] for log in tmp_path.glob("tandem-build.*")] == ["line 1"]
