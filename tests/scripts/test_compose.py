"""The compose files start the container as `make run` does, and with an egress container; the pod has such a container, too."""

import re
from pathlib import Path
from typing import Any

import yaml

from sandbox_server.drivers.egress.policy_document import parse_policy

ROOT = Path(__file__).parent.parent.parent


def service() -> dict[str, Any]:
    given: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]["sandbox"]
    return given


def test_the_flags_of_the_box_are_those_of_make_run() -> None:
    run = (ROOT / "scripts" / "run").read_text()
    assert "seccomp=deploy/seccomp/tandem.json" in run
    assert service()["security_opt"] == ["seccomp=./seccomp/tandem.json", "systempaths=unconfined"]
    assert all(f"--cap-drop {name}" in run for name in service()["cap_drop"])
    for flag, name in (("pids-limit", "pids_limit"), ("shm-size", "shm_size")):
        found = re.search(rf"--{flag} (\S+)", run)
        assert found
        assert found[1] == str(service()[name])
    mounted = re.search(r'--volume "\$volume:(/\S+)"', run)
    assert mounted
    assert [volume.split(":")[1] for volume in service()["volumes"]] == [mounted[1]]
    stop = re.search(r"--stop-timeout (\d+)", run)
    assert stop
    assert service()["stop_grace_period"] == f"{stop[1]}s"


def test_the_profile_is_where_the_file_says() -> None:
    assert (ROOT / "deploy" / "seccomp" / "tandem.json").is_file()


def test_nothing_of_the_host_is_mounted_and_only_loopback_is_published() -> None:
    assert all(not volume.startswith((".", "/", "~")) for volume in service()["volumes"])
    assert all(port.startswith("127.0.0.1:") for port in service()["ports"])


RIGHTS = {"NET_ADMIN", "SETUID", "SETGID"}
"""What an egress container needs: the rules, and to become a user who keeps nothing but the mark."""


def test_in_the_compose_file_only_the_egress_container_has_a_right_over_the_network() -> None:
    services = yaml.safe_load((ROOT / "deploy" / "compose-egress.yaml").read_text())["services"]
    egress, sandbox = services["egress"], services["sandbox"]
    assert (egress["cap_drop"], set(egress["cap_add"])) == (["ALL"], RIGHTS)
    assert sandbox["network_mode"] == "service:egress"
    assert "NET_RAW" in sandbox["cap_drop"]
    assert "cap_add" not in sandbox
    assert not sandbox.get("ports")
    assert all(port.startswith("127.0.0.1:") for port in egress["ports"])
    assert sandbox["environment"]["EGRESS"] == "false"


def test_in_the_pod_only_the_egress_container_has_a_right_over_the_network() -> None:
    objects = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "egress-pod.yaml").read_text()))
    pod = next(each["spec"] for each in objects if each["kind"] == "Pod")
    egress, sandbox = pod["containers"]
    given = egress["securityContext"]["capabilities"]
    assert (given["drop"], set(given["add"])) == (["ALL"], RIGHTS)
    assert sandbox["securityContext"] == {"capabilities": {"drop": ["NET_RAW"]}}
    assert not pod.get("hostNetwork")


def test_the_policies_of_the_files_parse() -> None:
    given = yaml.safe_load((ROOT / "deploy" / "compose-egress.yaml").read_text())["services"]["egress"]["environment"]["EGRESS_POLICY"]
    parse_policy(given.removeprefix("${EGRESS_POLICY:-").removesuffix("}"))
    objects = yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "egress-pod.yaml").read_text())
    parse_policy(next(each["data"]["policy.json"] for each in objects if each["kind"] == "ConfigMap"))
