"""How sandboxes of a fleet live, with a real engine: those that wait ready, sleep, wake, are kept and are forked."""

import datetime as dt
import json
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.image.container import engine, until
from tests.image.test_fleet import IMAGE, RUN, SECONDS, Host

CORE = {"TANDEM_IMAGE": f"{IMAGE}:core"}
"""The image that is ready soonest."""
ANSWERED_SECONDS = 120


@dataclass(frozen=True)
class Service:
    """A fleet that is served."""

    host: Host
    process: subprocess.Popen[str]
    http: httpx.Client

    def call(self, verb: str, path: str, **sent: Any) -> Any:
        """Call its API; what it answers."""
        answer = self.http.request(verb, path, **sent)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def make(self, **asked: Any) -> dict[str, Any]:
        """Make a sandbox of the template, and wait until it is ready."""
        made: dict[str, Any] = self.call("POST", "/v1/sandboxes", params={"wait": SECONDS}, json={"template": "web", **asked})
        assert made["state"] == "ready", made
        return made

    def ready(self) -> int:
        """How many wait."""
        return sum(pool["ready"] for pool in self.call("GET", "/v1/pools")["pools"])

    def state(self, name: str) -> str:
        """What a sandbox is."""
        state: str = self.call("GET", f"/v1/sandboxes/{name}")["state"]
        return state

    def ask(self, name: str, scope: str, path: str) -> Any:
        """What a sandbox's own API answers."""
        given = self.call("PUT", f"/v1/sandboxes/{name}/token", json={"scopes": [scope]})
        headers = {"Authorization": f"Bearer {given['token']}"}
        answer = httpx.get(f"{given['address']}{path}", headers=headers, timeout=ANSWERED_SECONDS, trust_env=False)
        assert answer.is_success, answer.text
        return answer.json()["data"]

    def read(self, name: str, file: str) -> str:
        """A file of a sandbox."""
        return self.host.run("exec", name, "--", "cat", file).stdout

    def containers(self) -> set[str]:
        """The ids of all sandboxes that exist in the engine."""
        names = engine("ps", "--all", "--format", "{{.Names}}", "--filter", f"label=tandem.fleet={self.host.fleet}").stdout.split()
        return {name.removeprefix("tandem-") for name in names}


@contextmanager
def served(host: Host) -> Iterator[Service]:
    """Serve the fleet."""
    with host.start("serve", "--port", "0") as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert " answers at " in line, line
            key = host.state.joinpath("key").read_text().strip()
            base = line.split(" answers at ")[1].split(";")[0]
            headers = {"Authorization": f"Bearer {key}"}
            with httpx.Client(base_url=base, headers=headers, timeout=SECONDS + ANSWERED_SECONDS, trust_env=False) as http:
                yield Service(host, process, http)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A fleet that leaves nothing."""
    made = Host(tmp_path_factory.mktemp("state"), f"test-{secrets.token_hex(4)}", CORE)
    yield made
    made.remove()


@pytest.fixture(scope="module")
def service(host: Host) -> Iterator[Service]:
    """A fleet with a template of which one waits ready, and one that sleeps after three seconds without use."""
    with served(host) as made:
        content = {"labels": {"tandem.test": RUN}, "memory_mb": 1024, "pool": {"min": 1, "max": 1}}
        made.call("PUT", "/v1/templates/web", json=content)
        made.make(name="sleeper", idle={"pause_after_minutes": 0.05})
        yield made


def test_one_that_waits_is_claimed_and_told_whom_it_works_for(service: Service) -> None:
    until(lambda: service.ready() == 1, SECONDS)
    waiting = service.containers()
    secret = {"value": "of-the-tenant-alone", "bindings": [{"hosts": ["example.com"]}]}
    made = service.make(name="claimed", secrets={"TOKEN": secret})
    assert made["id"] in waiting
    identity = service.ask("claimed", "view", "/v1/identity")
    assert (identity["tenant"], identity["labels"]) == (made["tenant"], {"name": "claimed"})
    assert identity["sandbox_id"] == made["id"]
    assert [one["name"] for one in service.ask("claimed", "admin", "/v1/secrets")] == ["TOKEN"]
    assert "of-the-tenant-alone" not in service.host.run("exec", "claimed", "--", "env").stdout
    until(lambda: service.ready() == 1, SECONDS)
    assert len(service.containers() - waiting) == 1


def test_one_that_waits_is_nobodys(service: Service) -> None:
    until(lambda: service.ready() == 1, SECONDS)
    listed = {one["id"] for one in service.host.listed()}
    [waiting] = service.containers() - {one for one in service.containers() if one in listed}
    assert service.http.get(f"/v1/sandboxes/{waiting}").status_code == 404
    assert service.http.put(f"/v1/sandboxes/{waiting}/token", json={"scopes": ["admin"]}).status_code == 404


def test_what_a_container_is_started_with_takes_none_that_waits(service: Service) -> None:
    until(lambda: service.ready() == 1, SECONDS)
    before = service.containers()
    made = service.make(name="other", environment={"GREETING": "hello"})
    assert made["id"] not in before
    assert service.host.run("exec", "other", "--", "printenv", "GREETING").stdout == "hello\n"


def test_what_was_kept_is_in_the_next_one_and_in_each_fork(service: Service) -> None:
    written = service.host.run("exec", "claimed", "--", "bash", "-c", "echo kept >~/file")
    assert written.code == 0, written.stderr
    kept = service.host.run("snapshot", "claimed", "before").stdout.strip()
    assert service.host.run("exec", "claimed", "--", "rm", "/home/gem/file").code == 0
    restored = service.host.run("snapshots", "restore", kept, "restored")
    assert restored.code == 0, restored.stderr
    assert service.read("restored", "/home/gem/file") == "kept\n"
    forked = service.host.run("fork", "restored", "-n", "2")
    assert forked.code == 0, forked.stderr
    assert [service.read(name, "/home/gem/file") for name in forked.stdout.split()] == ["kept\n"] * 2
    names = {service.ask(name, "view", "/v1/identity")["sandbox_id"] for name in ("restored", *forked.stdout.split())}
    assert len(names) == 3
    assert service.host.run("snapshots", "rm", kept).code == 0


def test_one_that_nobody_uses_sleeps_and_is_woken(service: Service) -> None:
    until(lambda: service.state("sleeper") == "paused", SECONDS)
    woken = service.call("POST", "/v1/sandboxes/sleeper/wake", params={"wait": SECONDS})
    assert woken["state"] == "ready"
    assert service.host.run("exec", "sleeper", "--", "true").code == 0
    service.call("POST", "/v1/sandboxes/sleeper/stop", params={"wait": SECONDS})
    at = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=2)
    service.call("POST", "/v1/sandboxes/sleeper/schedules", json={"at": at.isoformat()})
    until(lambda: service.state("sleeper") == "ready", SECONDS)


def test_a_service_that_is_killed_loses_none_that_waits(host: Host, service: Service) -> None:
    """The last test: it is another service that goes on."""
    until(lambda: service.ready() == 1, SECONDS)
    before = service.containers()
    service.process.kill()
    service.process.wait()
    with served(host) as again:
        until(lambda: again.ready() == 1, SECONDS)
        assert again.containers() == before
        assert again.make(name="last")["id"] in before
        host.run("template", "rm", "web")
        until(lambda: again.containers() == {json.loads(line)["id"] for line in host.run("ps", "--json").stdout.splitlines()}, SECONDS)
