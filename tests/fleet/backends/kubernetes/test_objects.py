"""What a cluster is told to make, by level, and what of it is the creator's to say."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tandem_fleet.backends.backend import Order
from tandem_fleet.backends.kubernetes import objects
from tandem_fleet.sandboxes import Spec

ROOT = Path(__file__).parents[4]
SPEC = Spec(image="image", environment={"KEY": "s3cret"}, memory_mb=2048, cpus=1.5, labels={"app": "gateway", "tandem.tenant": "x"})


def owner(**values: Any) -> dict[str, Any]:
    """A sandbox's Secret, as the cluster has it."""
    made = objects.secret("fleet", Order("a1", "work", "org/team", SPEC.model_copy(update=values), '{"keys": []}', "issuer"))
    made["metadata"]["uid"] = "u"
    return made


def pod(**values: Any) -> Any:
    return objects.pod(owner(**values))["spec"]


def test_the_secret_says_all_that_is_known_of_a_sandbox() -> None:
    made = owner()
    assert objects.spec_of(made) == SPEC
    assert made["metadata"]["labels"] == {"tandem.fleet": "fleet", "tandem.id": "a1"}
    assert made["metadata"]["annotations"] == {"tandem.name": "work", "tandem.tenant": "org/team"}


def test_a_variable_is_in_the_secret_alone() -> None:
    made = owner()
    parts = (objects.volume_claim(made, "1Gi", ""), objects.service(made), objects.network_policy(made), objects.pod(made))
    assert "s3cret" not in json.dumps(parts)
    assert base64.b64encode(b"s3cret").decode() not in json.dumps(parts)
    [variable] = [one for one in pod()["containers"][0]["env"] if one["name"] == "KEY"]
    assert variable["valueFrom"] == {"secretKeyRef": {"name": "tandem-a1", "key": "env.KEY"}}
    assert base64.b64decode(made["data"]["env.KEY"]) == b"s3cret"


def test_a_sandbox_takes_the_fleets_tokens_for_itself_alone() -> None:
    [container] = pod()["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert (variables["JWT_AUDIENCE"], variables["JWT_ISSUER"], variables["JWT_JWKS_FILE"]) == ("a1", "issuer", "/etc/tandem/jwks.json")
    [keys] = [one for one in pod()["volumes"] if one["name"] == "keys"]
    assert keys["secret"]["items"] == [{"key": "jwks.json", "path": "jwks.json"}]  # nothing else of the Secret


def test_a_variable_of_the_creator_does_not_say_who_may_call() -> None:
    [container] = pod(environment={"JWT_AUDIENCE": "other"})["containers"]
    assert [one.get("value") for one in container["env"] if one["name"] == "JWT_AUDIENCE"] == ["a1"]


def test_what_the_fleet_sets_is_kept_in_the_secret_and_gives_way_to_the_creator() -> None:
    order = Order("a1", "work", "default", SPEC, "{}", "issuer", {"KEY": "fleet", "PROXY": "fleet", "JWT_ISSUER": "other"})
    made = objects.secret("fleet", order)
    made["metadata"]["uid"] = "u"
    [container] = objects.pod(made)["spec"]["containers"]
    kept = {one["name"]: one["valueFrom"]["secretKeyRef"]["key"] for one in container["env"] if "valueFrom" in one}
    assert kept == {"KEY": "env.KEY", "PROXY": "own.PROXY"}
    assert objects.texts_of(made)["own.PROXY"] == "fleet"
    assert objects.spec_of(made).environment == {"KEY": "s3cret"}


def test_a_creators_label_is_on_no_object() -> None:
    made = owner()
    parts = (made, objects.volume_claim(made, "1Gi", ""), objects.service(made), objects.network_policy(made), objects.pod(made))
    assert {json.dumps(part["metadata"]["labels"]) for part in parts} == {'{"tandem.fleet": "fleet", "tandem.id": "a1"}'}


@pytest.mark.parametrize("level", ["box", "plain", "restricted"])
def test_a_level_is_as_in_the_manifests(level: str) -> None:
    """deploy/kubernetes is tried on real clusters by itself; the fleet makes the same."""
    folder = ROOT / "deploy/kubernetes" / level
    told = yaml.safe_load((folder / f"{level}.yaml").read_text())["spec"]["template"]["spec"]
    made = pod(level=level)
    assert made.get("securityContext") == told.get("securityContext")
    [wanted], [container] = told["containers"], made["containers"]
    assert container["securityContext"] == wanted["securityContext"]
    mounts = {(one["name"], one["mountPath"]) for one in container["volumeMounts"]}
    assert {(one["name"], one["mountPath"]) for one in wanted["volumeMounts"]} == mounts - {("shm", "/dev/shm"), ("keys", "/etc/tandem")}
    assert "" not in {one["emptyDir"].get("medium") for one in made["volumes"] if "emptyDir" in one}  # a Sandbox's schema refuses it
    base = list(yaml.safe_load_all((folder.parent / "base/sandbox.yaml").read_text()))[1]["spec"]["template"]["spec"]
    same = ("automountServiceAccountToken", "enableServiceLinks", "terminationGracePeriodSeconds")
    assert [made[name] for name in same] == [base[name] for name in same]


def test_limits_are_the_specs_and_requests_do_not_exceed_them() -> None:
    small = pod(memory_mb=256, cpus=0.1)["containers"][0]["resources"]
    assert (small["requests"]["memory"], small["limits"]["memory"]) == ("256Mi", "256Mi")
    assert (small["requests"]["cpu"], small["limits"]["cpu"]) == ("100m", "0.1")
    assert "cpu" not in pod(cpus=None)["containers"][0]["resources"]["limits"]
    assert [one["emptyDir"]["sizeLimit"] for one in pod()["volumes"] if one["name"] == "shm"] == ["1024Mi"]


def test_a_pod_has_no_right_in_the_cluster_and_ends_for_good() -> None:
    made = pod(runtime="gvisor")
    assert (made["automountServiceAccountToken"], made["restartPolicy"], made["runtimeClassName"]) == (False, "Never", "gvisor")
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"} & set(made)
    assert "runtimeClassName" not in pod()


def test_no_sandbox_is_let_in_and_no_private_address_is_reached() -> None:
    policy = objects.network_policy(owner())["spec"]
    assert policy["podSelector"] == {"matchLabels": {"tandem.id": "a1"}}
    [entry] = policy["ingress"]
    assert entry["from"] == [
        {"namespaceSelector": {}, "podSelector": {"matchExpressions": [{"key": "tandem.id", "operator": "DoesNotExist"}]}}
    ]
    assert entry["ports"] == [{"port": 8080, "protocol": "TCP"}]
    [outside, inside] = policy["egress"][0]["to"]
    assert {"10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"} <= set(outside["ipBlock"]["except"])
    assert "fc00::/7" in inside["ipBlock"]["except"]


def test_the_volumes_class_is_the_clusters_unless_said_otherwise() -> None:
    assert "storageClassName" not in objects.volume_claim(owner(), "1Gi", "")["spec"]
    named = objects.volume_claim(owner(), "7Gi", "fast")["spec"]
    assert (named["storageClassName"], named["resources"]["requests"]["storage"]) == ("fast", "7Gi")


def test_an_id_that_is_no_name_is_no_path() -> None:
    assert "/" not in objects.name_of("../../x")
