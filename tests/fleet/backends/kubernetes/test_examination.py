"""What the doctor says of a cluster."""

from pathlib import Path

import pytest
import yaml
from tandem_fleet.backends.kubernetes.client import KubernetesClient
from tandem_fleet.backends.kubernetes.examination import AGENT_SANDBOX_RIGHTS, RIGHTS, examine

from tests.fleet.backends.kubernetes.api_server import ApiServer
from tests.fleet.backends.kubernetes.conftest import settings

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[4]
DEFAULT = {"metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}


async def findings(client: KubernetesClient, **values: str) -> dict[str, tuple[bool, str]]:
    return {one.name: (one.holds, one.detail) for one in await examine(client, "fleet", settings("", **values))}


def test_the_role_that_is_deployed_allows_what_is_asked_for_and_no_more() -> None:
    [role] = [one for one in yaml.safe_load_all((ROOT / "deploy/kubernetes/fleet/rights.yaml").read_text()) if one["kind"] == "Role"]
    given = {
        (f"{group}/{kind}" if group else kind, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for kind in rule["resources"]
        for verb in rule["verbs"]
    }
    assert given == {(kind, verb) for kind, verbs in RIGHTS + AGENT_SANDBOX_RIGHTS for verb in verbs}


async def test_a_cluster_that_allows_everything(client: KubernetesClient, cluster: ApiServer) -> None:
    cluster.objects["storageclasses", "standard"] = DEFAULT
    found = await findings(client)
    assert [holds for holds, _ in found.values()] == [True] * 6
    assert found["engine"][1] == "Kubernetes v1.20.2, namespace sandboxes"
    assert found["storage"][1] == "class standard"
    assert found["level box"][1].startswith("allowed; each node needs")
    assert [kind for kind, _ in cluster.objects if kind != "storageclasses"] == []  # nothing was made


@pytest.mark.parametrize(("kind", "verb"), [(kind.rpartition(".io/")[2], verb) for kind, verbs in RIGHTS for verb in verbs])
async def test_each_right_that_is_missing_is_named(kind: str, verb: str, client: KubernetesClient, cluster: ApiServer) -> None:
    cluster.forbidden.add(f"{verb} {kind}")
    holds, detail = (await findings(client))["rights"]
    assert not holds
    assert f"{verb} " in detail
    assert detail.endswith(kind)


async def test_a_storage_class_that_is_not_there_is_said(client: KubernetesClient, cluster: ApiServer) -> None:
    assert (await findings(client))["storage"] == (False, "there is no default class")
    cluster.objects["storageclasses", "standard"] = DEFAULT
    assert (await findings(client, TANDEM_STORAGE_CLASS="fast"))["storage"] == (False, "class fast does not exist")
    cluster.forbidden.add("list storageclasses")
    holds, detail = (await findings(client, TANDEM_STORAGE_CLASS="fast"))["storage"]
    assert (holds, "may not see" in detail) == (True, True)


async def test_levels_that_are_not_allowed_are_told(client: KubernetesClient, cluster: ApiServer) -> None:
    cluster.drops_proc_mount = True
    found = await findings(client)
    assert found["level box"] == (True, "not allowed here: the feature ProcMountType is off")
    assert found["level plain"] == (True, "allowed")
    cluster.forbidden.add("create pods")
    assert "forbidden" in (await findings(client))["level restricted"][1]


async def test_agent_sandbox_has_to_be_there_where_it_shall_make_the_pods(client: KubernetesClient, cluster: ApiServer) -> None:
    assert "agent-sandbox" not in await findings(client)
    assert (await findings(client, TANDEM_PODS="agent-sandbox"))["agent-sandbox"][0]
    cluster.knows_agents = False
    assert not (await findings(client, TANDEM_PODS="agent-sandbox"))["agent-sandbox"][0]
    cluster.forbidden.add("patch sandboxes")
    assert (await findings(client, TANDEM_PODS="agent-sandbox"))["rights"] == (False, "not allowed: patch agents.x-k8s.io/sandboxes")
    assert (await findings(client))["rights"][0]
