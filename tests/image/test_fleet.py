"""The fleet with a real engine: its back end, and the command `tandem` as people call it."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from tandem_fleet.backends.backend import Order
from tandem_fleet.backends.docker import DockerBackend
from tandem_fleet.sandboxes import Spec, new_id
from tandem_fleet.signing_key import ISSUER, SigningKey

from tests.fleet.backends.backend_suite import PROMISES, Promise
from tests.image.container import Completed, engine, until

IMAGE = os.environ.get("TANDEM_IMAGE", "tandem")
RUN = os.environ["TANDEM_RUN"]
LIGHT = dict.fromkeys(("DISABLE_BROWSER", "DISABLE_JUPYTER", "DISABLE_CODE_SERVER"), "true")
"""Settings under which a sandbox is ready soon."""
LABELS = {"tandem.test": RUN}
"""What a run that was interrupted is cleaned up by."""
SECONDS = 240


@dataclass(frozen=True)
class Host:
    """A machine with the command `tandem`, a fleet of its own and a folder for it."""

    state: Path
    fleet: str
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the command is told besides."""

    @property
    def environment(self) -> dict[str, str]:
        """What the command is told."""
        ours = {"TANDEM_STATE": str(self.state), "TANDEM_FLEET": self.fleet, "TANDEM_NETWORK": RUN, "TANDEM_IMAGE": IMAGE}
        return {**os.environ, **ours, **self.variables, "PYTHONPATH": str(Path(__file__).parents[2] / "fleet")}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the command."""
        command = [sys.executable, "-m", "tandem_fleet.cli.main", *words]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words: str) -> Completed:
        """Run it to its end."""
        with self.start(*words) as process:
            out, err = process.communicate(timeout=SECONDS)
        return Completed(process.returncode, out, err)

    def up(self, *words: str) -> Completed:
        """Make a sandbox that is ready soon."""
        light = [word for name, value in LIGHT.items() for word in ("--env", f"{name}={value}")]
        done = self.run("up", *words, *light, "--label", f"tandem.test={RUN}", "--memory", "2048")
        assert done.code == 0, done.stderr
        return done

    def listed(self) -> list[dict[str, str]]:
        """What `tandem ps` lists."""
        return [json.loads(line) for line in self.run("ps", "--json").stdout.splitlines()]

    def remove(self) -> None:
        """Leave nothing of the fleet in the engine."""
        if containers := self.existing()[0]:
            engine("rm", "--force", "--volumes", *containers)
        if volumes := self.existing()[1]:
            engine("volume", "rm", *volumes)

    def existing(self) -> tuple[list[str], list[str]]:
        """Containers and volumes of the fleet in the engine."""
        where = ("--quiet", "--filter", f"label=tandem.fleet={self.fleet}")
        return engine("ps", "--all", *where).stdout.split(), engine("volume", "ls", *where).stdout.split()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A fleet that leaves nothing."""
    made = Host(tmp_path_factory.mktemp("state"), f"test-{secrets.token_hex(4)}")
    yield made
    made.remove()


@pytest.fixture(scope="module")
def work(host: Host) -> str:
    """A sandbox that is ready."""
    host.up("work")
    return "work"


@pytest.fixture
async def backend(host: Host) -> AsyncIterator[DockerBackend]:
    """The back end of another fleet on the same engine."""
    opened = DockerBackend(f"{host.fleet}-b", network=RUN)
    yield opened
    for found in await opened.list_all():
        await opened.delete(found.id)
    await opened.close()


@pytest.mark.anyio
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_docker_keeps_what_backends_keep(promise: Promise, backend: DockerBackend, tmp_path: Path) -> None:
    keys = SigningKey.kept(tmp_path / "key.pem").key_set_json
    spec = Spec(image=IMAGE, environment=LIGHT, labels=LABELS, memory_mb=1024)
    await promise(backend, Order(new_id(), "work", "default", spec, keys, ISSUER))


def test_a_command_is_run_and_its_end_is_ours(host: Host, work: str) -> None:
    done = host.run("exec", work, "--", "bash", "-c", "echo out; echo err >&2; exit 7")
    assert done == Completed(7, "out\n", "err\n")
    assert host.run("exec", work, "--", "whoami").stdout == "gem\n"


def test_a_link_signs_a_browser_in_once(host: Host, work: str) -> None:
    link = host.run("open", "--print", work).stdout.strip()
    assert [httpx.get(link, follow_redirects=False, headers={"Accept": "text/html"}).status_code for _ in range(2)] == [302, 401]


def test_a_token_opens_its_sandbox_and_no_other_and_only_what_it_names(host: Host, work: str) -> None:
    host.up("other")
    tokens = {name: json.loads(host.run("token", name, "--scope", "view", "--json").stdout) for name in (work, "other")}
    shell = json.loads(host.run("token", work, "--scope", "shell", "--json").stdout)

    def ask(place: str, token: str, path: str) -> int:
        return httpx.post(f"{place}{path}", headers={"Authorization": f"Bearer {token}"}, json={"command": "true"}).status_code

    mine, other = tokens[work], tokens["other"]
    assert ask(mine["address"], shell["token"], "/v1/bash/exec") == 200
    assert ask(mine["address"], mine["token"], "/v1/bash/exec") == 403
    assert ask(other["address"], shell["token"], "/v1/bash/exec") == 401
    assert ask(mine["address"], other["token"], "/v1/bash/exec") == 401
    assert host.run("rm", "other").code == 0


def test_paused_and_stopped_it_keeps_what_is_said_and_started_it_goes_on(host: Host, work: str) -> None:
    assert host.run("exec", work, "--", "bash", "-c", "echo kept >~/file; nohup sleep 1000 >/dev/null 2>&1 &").code == 0
    assert host.run("pause", work).code == 0
    assert "work is paused" in host.run("exec", work, "--", "true").stderr
    assert host.run("resume", work).code == 0
    assert host.run("exec", work, "--", "pgrep", "--full", "sleep 1000").code == 0
    assert host.run("stop", work).code == 0
    assert host.run("start", work).code == 0
    assert host.run("exec", work, "--", "cat", "/home/gem/file").stdout == "kept\n"
    assert host.run("exec", work, "--", "pgrep", "--full", "sleep 1000").code == 1


def test_one_that_was_killed_is_started_again(host: Host, work: str) -> None:
    [container] = engine(
        "ps", "--quiet", "--filter", f"label=tandem.fleet={host.fleet}", "--filter", "label=tandem.name=work"
    ).stdout.split()
    with host.start("serve", "--port", "0") as service:
        try:
            engine("kill", container)
            until(lambda: engine("inspect", "--format", "{{.State.Running}}", container).stdout.strip() == "true")
            until(lambda: host.listed()[0]["state"] == "ready", SECONDS)
        finally:
            service.send_signal(signal.SIGTERM)
            service.communicate(timeout=60)
    assert host.run("exec", work, "--", "true").code == 0


def test_a_service_killed_at_any_moment_makes_one_and_loses_none(host: Host) -> None:
    """It is killed a little later each time, the last time once there is a container; the next one goes on with them."""
    light = [f"--env={name}={value}" for name, value in LIGHT.items()]
    socket = host.state / f"{host.fleet}.sock"
    before = len(host.existing()[0])
    for number, moment in enumerate((0.0, 0.3, 0.9, None)):
        socket.unlink(missing_ok=True)
        with host.start("up", f"k{number}", "--no-wait", *light, f"--label=tandem.test={RUN}") as killed:
            until(socket.exists)
            if moment is None:
                until(lambda: len(host.existing()[0]) > before, SECONDS)
            else:
                time.sleep(moment)  # it is what is tried out
            killed.kill()
            killed.communicate()
    with host.start("serve", "--port", "0") as service:
        try:
            until(lambda: all(one["state"] == "ready" for one in host.listed()), SECONDS)
        finally:
            service.send_signal(signal.SIGTERM)
            service.communicate(timeout=60)
    listed = host.listed()
    containers, volumes = host.existing()
    assert len(containers) == len(volumes) == len(listed) > 0
    killed_ones = [one["name"] for one in listed if one["name"].startswith("k")]
    assert host.run("rm", *killed_ones).code == 0


def test_a_folder_that_was_lost_is_filled_from_the_engine(host: Host, work: str) -> None:
    [before] = [one for one in host.listed() if one["name"] == work]
    host.state.joinpath(f"{host.fleet}.db").unlink()
    [after] = [one for one in host.listed() if one["name"] == work]
    assert (after["id"], after["spec"]) == (before["id"], before["spec"])
    assert host.run("exec", work, "--", "true").code == 0


def test_removed_it_leaves_nothing(host: Host, work: str) -> None:
    assert host.run("rm", work).code == 0
    assert host.existing() == ([], [])
    assert host.listed() == []


def test_the_doctor_finds_the_engine(host: Host) -> None:
    assert "ok    engine: " in host.run("doctor").stdout
