"""The manifests of the three levels: what each asks of a cluster, and that a pod's probes, end and volumes are the product's."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "deploy" / "kubernetes"
LEVELS = ("box", "plain", "restricted")
WRITABLE = {"/run", "/tmp", "/var/tmp", "/var/log/gem", "/home/gem", "/dev/shm"}
"""What a sandbox writes where its root file system is read-only."""


def base() -> dict[str, Any]:
    """The pod that all levels have in common."""
    objects = yaml.safe_load_all((FOLDER / "base" / "sandbox.yaml").read_text())
    pod: dict[str, Any] = next(each for each in objects if each["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    return pod


def patch(level: str) -> dict[str, Any]:
    """What a level adds to the pod."""
    pod: dict[str, Any] = yaml.safe_load((FOLDER / level / f"{level}.yaml").read_text())["spec"]["template"]["spec"]
    return pod


def container(pod: dict[str, Any]) -> dict[str, Any]:
    [only] = pod["containers"]
    assert only["name"] == "sandbox"
    found: dict[str, Any] = only
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_the_base_and_one_patch(level: str) -> None:
    given = yaml.safe_load((FOLDER / level / "kustomization.yaml").read_text())
    assert given["resources"] == ["../base"]
    assert given["patches"] == [{"path": f"{level}.yaml"}]


def test_on_openshift_the_restricted_pod_has_no_user_of_its_own() -> None:
    given = yaml.safe_load((FOLDER / "openshift" / "kustomization.yaml").read_text())
    assert given["resources"] == ["../restricted"]
    [only] = given["patches"]
    removed = {Path(each["path"]).name for each in yaml.safe_load(only["patch"]) if each["op"] == "remove"}
    assert removed == {name for name in patch("restricted")["securityContext"] if name.startswith(("runAs", "fs"))} - {"runAsNonRoot"}


def test_the_pod_ends_as_make_run_lets_it_and_gives_the_agent_no_token() -> None:
    stop = re.search(r"--stop-timeout (\d+)", (ROOT / "scripts" / "run").read_text())
    assert stop
    assert base()["terminationGracePeriodSeconds"] == int(stop[1])
    assert base()["automountServiceAccountToken"] is False
    assert base()["enableServiceLinks"] is False


def test_the_pod_is_alive_and_ready_by_the_products_own_paths() -> None:
    given = container(base())
    assert {name: given[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")} == {
        "startup": "/healthz",
        "readiness": "/readyz",
        "liveness": "/healthz",
    }
    assert {"cpu", "memory", "ephemeral-storage"} == set(given["resources"]["limits"]) == set(given["resources"]["requests"])


def test_the_level_box_has_the_flags_of_make_run_and_keeps_the_boxes_files() -> None:
    given = container(patch("box"))
    assert given["securityContext"] == {
        "procMount": "Unmasked",
        "seccompProfile": {"type": "Localhost", "localhostProfile": "tandem.json"},
        "capabilities": {"drop": ["NET_RAW"]},
    }
    assert given["volumeMounts"] == [{"name": "sandbox", "mountPath": "/sandbox"}]


def test_the_level_plain_asks_for_nothing() -> None:
    assert container(patch("plain"))["securityContext"] == {"capabilities": {"drop": ["NET_RAW"]}}
    assert set(patch("plain")) == {"containers"}


def test_the_level_restricted_is_what_the_pod_security_standard_demands() -> None:
    pod, given = patch("restricted"), container(patch("restricted"))
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert given["securityContext"]["allowPrivilegeEscalation"] is False
    assert given["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & (set(pod) | set(base()))
    assert all(set(volume) == {"name", "emptyDir"} for volume in pod["volumes"] + base()["volumes"])


def test_the_level_restricted_has_a_volume_wherever_a_read_only_sandbox_writes() -> None:
    pod, given = patch("restricted"), container(patch("restricted"))
    assert given["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {mount["mountPath"]: mount["name"] for mount in container(base())["volumeMounts"] + given["volumeMounts"]}
    assert set(mounts) == WRITABLE
    assert {volume["name"] for volume in pod["volumes"] + base()["volumes"]} == set(mounts.values()) - {"sandbox"}
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsUser"] == 1000
