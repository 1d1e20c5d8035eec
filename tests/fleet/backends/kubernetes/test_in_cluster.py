"""`tandem serve` in a real cluster, end to end: deploy/kubernetes/fleet is applied, and a sandbox lives through all that people do.

It runs where TANDEM_TEST_KUBECONFIG leads to a cluster that has the images TANDEM_IMAGE (tandem) and TANDEM_FLEET_IMAGE (tandem-fleet) on
its nodes, and whose Pods are reached from here by their addresses. `scripts/test-kubernetes-fleet` brings one up.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
import yaml

ROOT = Path(__file__).parents[4]
KUBECONFIG = os.environ.get("TANDEM_TEST_KUBECONFIG", "")
IMAGE = os.environ.get("TANDEM_IMAGE", "tandem")
FLEET_IMAGE = os.environ.get("TANDEM_FLEET_IMAGE", "tandem-fleet")
LEVEL = os.environ.get("TANDEM_TEST_LEVEL", "box")
KEY = "key-of-a-test"
SECONDS = 240
STEPS: dict[str, float] = {}
"""How long each took, in seconds."""
pytestmark = pytest.mark.skipif(not KUBECONFIG, reason="TANDEM_TEST_KUBECONFIG leads to no cluster")


def kubectl(*arguments: str, given: str = "") -> str:
    """What kubectl prints."""
    command = ["kubectl", "--kubeconfig", KUBECONFIG, *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def manifest() -> str:
    """The objects of deploy/kubernetes/fleet, with the images that are tried and the API server's address as this machine knows it."""
    server = urlsplit(yaml.safe_load(Path(KUBECONFIG).read_text())["clusters"][0]["cluster"]["server"])
    made = list(yaml.safe_load_all(kubectl("kustomize", str(ROOT / "deploy/kubernetes/fleet"))))
    [service] = [one for one in made if one["kind"] == "StatefulSet"]
    [container] = service["spec"]["template"]["spec"]["containers"]
    container |= {"image": FLEET_IMAGE, "imagePullPolicy": "Never"}
    named = {"TANDEM_IMAGE": IMAGE, "KUBERNETES_SERVICE_HOST": server.hostname, "KUBERNETES_SERVICE_PORT": str(server.port)}
    kept = [one for one in container["env"] if one["name"] not in named]
    container["env"] = kept + [{"name": name, "value": value} for name, value in named.items()]
    return yaml.safe_dump_all(made)


def give_volumes() -> None:
    """Give volumes that are folders of this machine to the user 1000: kubelet does not apply `fsGroup` to those."""
    for volume in json.loads(kubectl("get", "persistentvolumes", "--output", "json"))["items"]:
        with suppress(KeyError, OSError):
            if volume["spec"]["claimRef"]["namespace"] == "tandem":
                os.chown(volume["spec"]["hostPath"]["path"], 1000, 1000)


def ready() -> str:
    """How many of the service's Pods are ready."""
    return kubectl("--namespace", "tandem", "get", "statefulset", "tandem-fleet", "--output", "jsonpath={.status.readyReplicas}")


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Note how long a step takes."""
    began = time.monotonic()
    yield
    STEPS[step] = round(time.monotonic() - began, 2)


class Service:
    """The fleet's API, at the address of its Pod."""

    @property
    def host(self) -> str:
        """Where its Pod is."""
        return kubectl("--namespace", "tandem", "get", "pod", "tandem-fleet-0", "--output", "jsonpath={.status.podIP}")

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """What it answers."""
        headers = {"Authorization": f"Bearer {KEY}"}
        answer = httpx2.request(verb, f"http://{self.host}:7700{path}", json=body, headers=headers, timeout=SECONDS, trust_env=False)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def use(self, path: str, body: Any, *scopes: str, subject: str = "agent") -> Any:
        """What the sandbox answers to a token of the fleet's."""
        made = self.call("PUT", "/v1/sandboxes/work/token", {"scopes": list(scopes), "subject": subject})
        headers = {"Authorization": f"Bearer {made['token']}"}
        answer = httpx2.post(f"{made['address']}{path}", json=body, headers=headers, timeout=SECONDS, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def run(self, command: str) -> str:
        """What a command of the agent's prints."""
        return str(self.use("/v1/bash/exec", {"command": command}, "shell")["stdout"]).strip()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """The fleet in the cluster. What it made is removed with its namespaces."""
    given = manifest()
    namespaces = [one for one in yaml.safe_load_all(given) if one["kind"] == "Namespace"]
    kubectl("apply", "--validate=false", "--filename", "-", given=yaml.safe_dump_all(namespaces))
    try:
        kubectl("--namespace", "tandem", "create", "secret", "generic", "tandem-fleet", f"--from-literal=key={KEY}")
        with timed("service ready"):
            kubectl("apply", "--validate=false", "--filename", "-", given=given)
            deadline = time.monotonic() + SECONDS
            while ready() != "1":
                give_volumes()
                assert time.monotonic() < deadline, kubectl("--namespace", "tandem", "logs", "tandem-fleet-0")
                time.sleep(0.5)
        yield Service()
    finally:
        sys.stderr.write(f"\n{json.dumps(STEPS)}\n")
        kubectl("delete", "namespace", "tandem", "tandem-sandboxes", "--timeout=120s")


@pytest.fixture(scope="module")
def work(service: Service) -> dict[str, Any]:
    """A sandbox that is ready."""
    with timed("up"):
        body = {"name": "work", "level": LEVEL, "memory_mb": 2048, "environment": {"DISABLE_CODE_SERVER": "true"}}
        made: dict[str, Any] = service.call("POST", f"/v1/sandboxes?wait={SECONDS}", body)
    assert made["state"] == "ready", made
    return made


def order(service: Service, what: str) -> Any:
    with timed(what):
        return service.call("POST", f"/v1/sandboxes/work/{what}?wait={SECONDS}")


def test_the_doctor_finds_no_right_missing(service: Service) -> None:
    found = {one["name"]: one for one in service.call("GET", "/v1/doctor")["findings"]}
    assert found["rights"]["holds"], found["rights"]
    assert found[f"level {LEVEL}"]["detail"].startswith("allowed")


@pytest.mark.usefixtures("work")
def test_a_command_runs(service: Service) -> None:
    assert service.run("echo kept >~/kept && cat ~/kept") == "kept"
    assert service.run("ls /var/run/secrets/kubernetes.io 2>/dev/null") == ""


@contextmanager
def person(service: Service) -> Iterator[httpx2.Client]:
    """A browser that opened `/view` with a ticket, and is signed in."""
    made = service.call("PUT", "/v1/sandboxes/work/token", {"scopes": ["view", "control"], "subject": "person"})
    with httpx2.Client(base_url=made["address"], trust_env=False, follow_redirects=True, timeout=SECONDS) as browser:
        ticket = browser.post("/tickets", json={}, headers={"Authorization": f"Bearer {made['token']}"}).json()["ticket"]
        page = browser.get(f"/view?ticket={ticket}", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["Content-Type"].partition(";")[0]) == (200, "text/html")
        browser.headers["Origin"] = made["address"]
        yield browser


@pytest.mark.usefixtures("work")
def test_a_person_opens_it_and_answers_a_handoff(service: Service) -> None:
    asked = {"kind": "choice", "reason": "Which?", "choices": ["this", "that"], "wait": 60}
    with ThreadPoolExecutor() as threads, person(service) as browser:
        waiting = threads.submit(service.use, "/v1/handoffs", asked, "view")
        while not (listed := browser.get("/v1/handoffs").json()["data"]):
            assert not waiting.done()
            time.sleep(0.1)
        answer = browser.post(f"/v1/handoffs/{listed[0]['id']}/answer", json={"outcome": "done", "choice": "that"})
        assert answer.status_code == 200, answer.text
        assert waiting.result(SECONDS)["choice"] == "that"


@pytest.mark.skipif(LEVEL != "box", reason="only a box is paused")
@pytest.mark.usefixtures("work")
def test_paused_it_goes_on_where_it_was(service: Service) -> None:
    service.run("nohup sleep 1000 >/dev/null 2>&1 &")
    assert order(service, "pause")["state"] == "paused"
    assert order(service, "resume")["state"] == "ready"
    assert service.run("pgrep --full --count 'sleep 1000'") != "0"


@pytest.mark.skipif(LEVEL != "box", reason="only a box is paused")
def test_a_request_to_the_gateway_wakes_it(service: Service, work: dict[str, Any]) -> None:
    assert order(service, "pause")["state"] == "paused"
    token = service.call("PUT", "/v1/sandboxes/work/token", {"scopes": ["shell"]})["token"]
    headers = {"Authorization": f"Bearer {token}", "Host": "tandem-fleet.tandem:7780"}
    with timed("wake by a request"):
        place = f"http://{service.host}:7780/s/{work['id']}/v1/bash/exec"
        answer = httpx2.post(place, json={"command": "echo awake"}, headers=headers, timeout=SECONDS, trust_env=False)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["stdout"] == "awake\n"
    assert service.call("GET", "/v1/sandboxes/work")["state"] == "ready"


@pytest.mark.usefixtures("work")
def test_stopped_it_keeps_its_files(service: Service) -> None:
    assert order(service, "stop")["state"] == "stopped"
    assert kubectl("--namespace", "tandem-sandboxes", "get", "pods", "--output", "name") == ""
    assert order(service, "start")["state"] == "ready"
    assert service.run("cat ~/kept") == "kept"


def test_a_service_that_was_killed_knows_it_again(service: Service, work: dict[str, Any]) -> None:
    """Its Pod is another one, with the same volume."""
    with timed("service back"):
        kubectl("--namespace", "tandem", "delete", "pod", "tandem-fleet-0", "--grace-period=1")
        kubectl("--namespace", "tandem", "rollout", "status", "statefulset/tandem-fleet", f"--timeout={SECONDS}s")
    assert service.call("GET", "/v1/sandboxes/work")["id"] == work["id"]
    assert service.run("cat ~/kept") == "kept"


@pytest.mark.usefixtures("work")
def test_removed_it_leaves_nothing(service: Service) -> None:
    with timed("rm"):
        service.call("DELETE", f"/v1/sandboxes/work?wait={SECONDS}")
    kinds = "pods,secrets,services,persistentvolumeclaims,networkpolicies"
    left = kubectl("--namespace", "tandem-sandboxes", "get", kinds, "--selector", "tandem.id", "--output", "name")
    assert left == ""
