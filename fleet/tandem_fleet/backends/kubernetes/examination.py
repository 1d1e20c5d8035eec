"""Whether a cluster lets a fleet make sandboxes, and what it lacks."""

import asyncio

from tandem_fleet.backends.backend import Finding, Order
from tandem_fleet.backends.kubernetes import objects
from tandem_fleet.backends.kubernetes.client import KubernetesClient, Object, Refusal, nothing_to_do
from tandem_fleet.sandboxes import Spec
from tandem_fleet.settings import KubernetesSettings

Rights = tuple[tuple[str, tuple[str, ...]], ...]
RIGHTS: Rights = (
    ("pods", ("create", "delete", "get", "list", "patch", "watch")),
    ("pods/log", ("get",)),
    ("secrets", ("create", "delete", "get", "list", "patch")),
    ("persistentvolumeclaims", ("create", "delete")),
    ("services", ("create", "delete")),
    ("networking.k8s.io/networkpolicies", ("create", "delete")),
)
"""What a fleet does with which objects of its namespace."""
AGENT_SANDBOX_RIGHTS: Rights = (("agents.x-k8s.io/sandboxes", ("create", "delete", "patch")),)
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


async def examine(client: KubernetesClient, fleet: str, settings: KubernetesSettings) -> list[Finding]:
    """All findings. Raises `EngineUnreachableError` where the cluster does not answer."""
    version = await client.call("GET", "/version")
    missing = await _missing_rights(client, RIGHTS + (AGENT_SANDBOX_RIGHTS if settings.agent_sandbox else ()))
    named = f"Kubernetes {version.get('gitVersion')}, namespace {client.namespace}"
    return [
        Finding("engine", True, named),
        Finding(
            "rights",
            not missing,
            f"not allowed: {', '.join(missing)}" if missing else "all that a fleet does",
            "give the fleet the Role of deploy/kubernetes/fleet" if missing else "",
        ),
        *([await _controller(client)] if settings.agent_sandbox else []),
        await _storage(client, settings.storage_class),
        *await asyncio.gather(*(_level(client, fleet, level) for level in ("box", "plain", "restricted"))),
    ]


async def _missing_rights(client: KubernetesClient, rights: Rights) -> list[str]:
    asked = [(kind, verb) for kind, verbs in rights for verb in verbs]
    allowed = await asyncio.gather(*(_may(client, kind, verb) for kind, verb in asked))
    return [f"{verb} {kind}" for (kind, verb), holds in zip(asked, allowed, strict=True) if not holds]


async def _may(client: KubernetesClient, kind: str, verb: str) -> bool:
    group, _, resource = kind.partition("/") if "." in kind else ("", "", kind)
    resource, _, part = resource.partition("/")
    attributes = {"namespace": client.namespace, "verb": verb, "group": group, "resource": resource, "subresource": part}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool((answer.get("status") or {}).get("allowed"))


async def _controller(client: KubernetesClient) -> Finding:
    """Whether the cluster knows objects `Sandbox` of the version that the fleet writes."""
    with nothing_to_do(404):
        await client.call("GET", "/apis/agents.x-k8s.io/v1beta1")
        return Finding("agent-sandbox", True, "the cluster knows agents.x-k8s.io/v1beta1")
    missing = "the cluster does not know agents.x-k8s.io/v1beta1"
    return Finding("agent-sandbox", False, missing, "install agent-sandbox, or take TANDEM_PODS away")


async def _storage(client: KubernetesClient, storage_class: str) -> Finding:
    hint = "name one in TANDEM_STORAGE_CLASS, or make one the default"
    try:
        listed = (await client.call("GET", "/apis/storage.k8s.io/v1/storageclasses")).get("items") or ()
    except Refusal:
        return Finding("storage", True, f"{storage_class or 'the default class'}; the fleet may not see which there are")
    classes = {one["metadata"]["name"]: one["metadata"].get("annotations") or {} for one in listed}
    if storage_class:
        there = storage_class in classes
        return Finding("storage", there, f"class {storage_class}{'' if there else ' does not exist'}", "" if there else hint)
    default = [name for name, annotations in classes.items() if annotations.get(_DEFAULT_CLASS) == "true"]
    return Finding("storage", bool(default), f"class {default[0]}" if default else "there is no default class", "" if default else hint)


async def _level(client: KubernetesClient, fleet: str, level: str) -> Finding:
    """Whether the API server would take a Pod of a level: it is asked, and nothing is made.

    A level that the cluster does not allow is no fault where no sandbox uses it, so it is told and holds.
    """
    owner = objects.secret(fleet, Order("examined", "examined", "default", Spec(level=level), "{}", "issuer"))
    owner["metadata"]["uid"] = "examined"
    made = objects.pod(owner)
    del made["metadata"]["ownerReferences"]
    try:
        taken = await client.call("POST", client.path("pods"), made, query={"dryRun": "All"})
    except Refusal as refused:
        return Finding(f"level {level}", True, f"not allowed here: {refused}")
    if level == "box" and not _is_unmasked(taken):
        return Finding("level box", True, "not allowed here: the feature ProcMountType is off")
    note = "; each node needs deploy/seccomp/kubernetes.json as seccomp/tandem.json, which cannot be seen from here"
    return Finding(f"level {level}", True, f"allowed{note if level == 'box' else ''}")


def _is_unmasked(pod: Object) -> bool:
    return bool(pod["spec"]["containers"][0].get("securityContext", {}).get("procMount") == "Unmasked")
