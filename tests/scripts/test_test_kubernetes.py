"""`scripts/test-kubernetes` fails where a level does not hold what it promises, and takes away what it made. kubectl is a stand-in."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "test-kubernetes"
CHECKS = [{"name": "browser_sandbox", "status": "holds"}, {"name": "memory_limit", "status": "holds"}]
KUBECTL = r"""#!/bin/sh
echo "$*" | head -n 1 >>"$HERE/said"
case "$*" in
  *"rollout status"*) if [ -e "$HERE/unready" ]; then echo "error: timed out waiting for the condition" >&2; exit 1; fi ;;
  *"describe pod"*) printf 'Name: tandem-0\nEvents:\n  BackOff  restarting failed container\n' ;;
  *v1/capabilities*) cat "$HERE/capabilities" ;;
  *v1/doctor*) cat "$HERE/doctor" ;;
  *page/navigate*) echo '{"data": {"title": "there"}}' ;;
  *v1/checkpoints*) cat "$HERE/checkpoints" ;;
  *"sudo -n id -u"*) echo '{"data": {"stdout": "0"}}' ;;
  *"id -un"*) echo '{"data": {"stdout": "gem"}}' ;;
  *"cat kept"*) echo '{"data": {"stdout": "kept"}}' ;;
  *secrets/kubernetes.io*) echo '{"data": {"stdout": ""}}' ;;
esac
"""


class Cluster:
    """What a cluster and the sandbox in it answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(SCRIPT, folder / "scripts")
        (folder / "kubectl").write_text(KUBECTL)
        (folder / "kubectl").chmod(0o755)
        self.answers("capabilities", {"rung": "box"})
        self.answers("doctor", {"checks": CHECKS})
        self.answers("checkpoints", {"checkpoint": {"id": "a"}})

    def answers(self, name: str, data: dict[str, Any]) -> None:
        (self.folder / name).write_text(json.dumps({"data": data}))

    def run(self, *levels: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{self.folder}:/usr/bin:/bin", "HERE": str(self.folder)}
        command = [str(self.folder / "scripts" / "test-kubernetes"), *levels]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)

    @property
    def said(self) -> list[str]:
        return (self.folder / "said").read_text().splitlines()


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """A cluster in which the level `box` holds all that it promises."""
    return Cluster(tmp_path)


def test_a_level_that_holds_what_it_promises_passes_and_leaves_nothing(cluster: Cluster) -> None:
    done = cluster.run("box")
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("test-kubernetes: 1 passed, 0 failed\n")
    assert cluster.said[-1] == "delete namespace tandem-test-box --timeout=120s"
    assert sum("delete pod tandem-0" in line for line in cluster.said) == 1


def test_a_level_that_is_lower_than_it_promises_fails_by_name(cluster: Cluster) -> None:
    cluster.answers("capabilities", {"rung": "users"})
    cluster.answers("checkpoints", {})
    done = cluster.run("box")
    assert done.returncode == 1
    assert "box: level is 'users', not 'box'" in done.stderr
    assert "box: undo is False, not True" in done.stderr


def test_a_pod_that_does_not_become_ready_fails_with_its_events(cluster: Cluster) -> None:
    (cluster.folder / "unready").touch()
    done = cluster.run("box")
    assert done.returncode == 1
    assert "timed out waiting for the condition" in done.stderr
    assert "BackOff  restarting failed container" in done.stderr
    assert cluster.said[-1] == "delete namespace tandem-test-box --timeout=120s"


def test_a_level_that_there_is_not_is_refused_before_anything_is_made(cluster: Cluster) -> None:
    done = cluster.run("box", "strongest")
    assert (done.returncode, done.stderr) == (2, "test-kubernetes: no level: strongest; there are box, plain, restricted, openshift\n")
    assert not (cluster.folder / "said").exists()
