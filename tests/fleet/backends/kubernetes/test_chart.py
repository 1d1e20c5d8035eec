"""The Helm chart of `tandem serve`: it makes what the kustomization makes, and what its values say.

Helm itself is tried where the package helm-sdkpy is, and TANDEM_TEST_KUBECONFIG leads to a cluster; its API server is enough.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tandem_fleet
import yaml

ROOT = Path(__file__).parents[4]
CHART, KUSTOMIZATION = ROOT / "deploy/kubernetes/chart", ROOT / "deploy/kubernetes/fleet"
KUBECONFIG = os.environ.get("TANDEM_TEST_KUBECONFIG", "")
RELEASE, NAMESPACE = "tandem", "tandem"
pytestmark = pytest.mark.anyio
Objects = dict[tuple[str, str], Any]


def read(text: str) -> Objects:
    """Objects by kind and name."""
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


def test_the_chart_has_the_packages_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert {chart["version"], chart["appVersion"]} == {tandem_fleet.__version__}


def test_its_rights_are_the_kustomizations() -> None:
    text = (CHART / "templates/rights.yaml").read_text()
    for value, name in ((".Release.Namespace", NAMESPACE), (".Values.sandboxes.namespace", "tandem-sandboxes")):
        text = text.replace(f"{{{{ {value} }}}}", name)
    assert read(text) == read((KUSTOMIZATION / "rights.yaml").read_text())


def kubectl(*arguments: str) -> str:
    """What kubectl prints."""
    command = ["kubectl", "--kubeconfig", KUBECONFIG, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def variables(service: Any) -> dict[str, Any]:
    """What a StatefulSet's container is told; they are taken out of it."""
    [container] = service["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container.pop("env")}


@pytest.mark.skipif(not KUBECONFIG, reason="TANDEM_TEST_KUBECONFIG leads to no cluster")
async def test_installed_it_is_what_the_kustomization_is_and_an_upgrade_is_what_its_values_say() -> None:
    helm = pytest.importorskip("helm_sdkpy")
    with helm.Configuration(namespace=NAMESPACE, kubeconfig=KUBECONFIG) as configuration:
        made = await helm.Install(configuration).run(RELEASE, str(CHART), create_namespace=True, wait=False)
        try:
            given, wanted = read(made["manifest"]), read(kubectl("kustomize", str(KUSTOMIZATION)))
            assert set(given) == set(wanted) - {("Namespace", NAMESPACE)}
            service, expected = given.pop(("StatefulSet", "tandem-fleet")), wanted.pop(("StatefulSet", "tandem-fleet"))
            more = {"TANDEM_STORAGE_CLASS": "", "TANDEM_VOLUME_SIZE": "10Gi", "TANDEM_PODS": "plain"}
            assert variables(service) == variables(expected) | more
            assert service["spec"]["template"]["spec"]["containers"][0].pop("imagePullPolicy") == "IfNotPresent"
            assert service == expected
            given["Namespace", "tandem-sandboxes"]["metadata"].pop("annotations")
            given["Service", "tandem-fleet"]["spec"].pop("type")
            assert given == {name: wanted[name] for name in given}
            values = {
                "gateway": {"domain": "boxes.test", "certificate": "boxes-tls"},
                "store": {"secret": "store"},
                "sandboxes": {"storageClass": "fast", "podSecurity": "restricted"},
                "environment": {"TANDEM_GATEWAY_WAIT": 60},
            }
            upgraded = read((await helm.Upgrade(configuration).run(RELEASE, str(CHART), values=values, wait=False))["manifest"])
            told = variables(upgraded["StatefulSet", "tandem-fleet"])
            assert told["TANDEM_STORE"] == {"secretKeyRef": {"name": "store", "key": "url"}}
            wanted_variables = {"TANDEM_GATEWAY_DOMAIN": "boxes.test", "TANDEM_STORAGE_CLASS": "fast", "TANDEM_GATEWAY_WAIT": "60"}
            assert wanted_variables.items() <= told.items()
            assert "TANDEM_GATEWAY_URL" not in told
            there = kubectl("--namespace", NAMESPACE, "get", "statefulset", "tandem-fleet", "--output", "jsonpath={..volumes[*].name}")
            assert there.split() == ["tmp", "certificate"]
        finally:
            await helm.Uninstall(configuration).run(RELEASE, wait=False)
    assert kubectl("get", "namespace", "tandem-sandboxes", "--output", "name").strip() == "namespace/tandem-sandboxes"
    kubectl("delete", "namespace", NAMESPACE, "tandem-sandboxes", "--wait=false")
