"""What the cluster's objects say of a sandbox."""

from typing import Any

import pytest
from tandem_fleet.backends.backend import Order, Phase
from tandem_fleet.backends.kubernetes import objects, pod_state
from tandem_fleet.sandboxes import Spec


def secret(**annotations: str) -> dict[str, Any]:
    made = objects.secret("fleet", Order("a1", "work", "default", Spec(image="image"), "{}", "issuer"))
    made["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z"}
    made["metadata"]["annotations"] |= {name.replace("_", "."): value for name, value in annotations.items()}
    return made


def pod(phase: str = "Running", state: dict[str, Any] | None = None, **values: Any) -> dict[str, Any]:
    metadata = values.pop("metadata", {})
    statuses = [{"state": {"running": {}} if state is None else state}]
    return {
        "metadata": {"name": "tandem-a1"} | metadata,
        "status": {"phase": phase, "podIP": "10.0.0.9", "containerStatuses": statuses} | values,
    }


@pytest.mark.parametrize(
    ("made", "started", "phase"),
    [
        (None, "false", Phase.CREATED),
        (None, "true", Phase.STOPPED),
        (pod(), "true", Phase.RUNNING),
        (pod("Pending", {"waiting": {}}), "true", Phase.RUNNING),
        (pod("Failed", {"terminated": {"exitCode": 1}}), "true", Phase.STOPPED),
        (pod("Succeeded", {"terminated": {"exitCode": 0}}), "true", Phase.STOPPED),
        (pod(metadata={"annotations": {"tandem.paused": "true"}}), "true", Phase.PAUSED),
        (pod("Failed", metadata={"annotations": {"tandem.paused": "true"}}), "true", Phase.STOPPED),
        (pod(metadata={"deletionTimestamp": "x"}), "true", Phase.RUNNING),
    ],
)
def test_a_phase_is_the_pods(made: dict[str, Any] | None, started: str, phase: Phase) -> None:
    found = pod_state.found(secret(tandem_started=started), made)
    assert found
    assert (found.phase, found.created_at.isoformat()) == (phase, "2026-01-02T03:04:05+00:00")


@pytest.mark.parametrize(
    ("made", "address"),
    [
        (pod(), "http://10.0.0.9:8080"),
        (pod(podIP="fd00::9"), "http://[fd00::9]:8080"),
        (pod(podIP=None), ""),
        (pod(state={"waiting": {}}), ""),
        ({"metadata": {}}, ""),
    ],
)
def test_an_address_is_that_of_a_container_that_runs(made: dict[str, Any], address: str) -> None:
    assert pod_state.address(made) == address


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (pod(), ""),
        (pod("Failed", {"terminated": {"exitCode": 3, "reason": "Error"}}), "it ended with exit code 3"),
        (pod("Failed", {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}), "it ended with exit code 137 (OOMKilled)"),
        (pod("Failed", {}, reason="Evicted", message="The node was low on memory."), "Evicted: The node was low on memory."),
        (pod("Failed", {}), "it ended"),
        (pod("Pending", {"waiting": {"reason": "ErrImagePull", "message": "not found"}}), "ErrImagePull: not found"),
        (
            pod("Pending", {}, conditions=[{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}]),
            "0/1 nodes are available",
        ),
    ],
)
def test_a_reason_is_the_nodes_the_containers_or_the_schedulers(made: dict[str, Any], reason: str) -> None:
    assert pod_state.reason(made) == reason


def test_a_secret_without_what_the_fleet_wrote_is_no_sandbox() -> None:
    made = secret()
    del made["metadata"]["annotations"]["tandem.tenant"]
    assert pod_state.found(made, None) is None
    assert pod_state.found({"metadata": {"labels": {"tandem.id": "a"}}}, None) is None


def test_ending_and_paused_are_told_apart() -> None:
    ending = pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert (pod_state.is_ending(ending), pod_state.is_paused(ending), pod_state.is_over(ending)) == (True, False, False)
