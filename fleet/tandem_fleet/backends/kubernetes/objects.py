"""The objects that a sandbox is made of. All are called `tandem-<id>`.

The Secret is the sandbox: all that the fleet knows of it is in there, and it owns the others, so that they go with it.
"""

import base64
from collections.abc import Mapping
from urllib.parse import quote

from tandem_fleet.backends.backend import Order
from tandem_fleet.backends.kubernetes.client import Object
from tandem_fleet.sandboxes import FLEET_LABEL, ID_LABEL, NAME_LABEL, TENANT_LABEL, Spec

SECRETS, PODS, SERVICES, VOLUMES, POLICIES = "secrets", "pods", "services", "persistentvolumeclaims", "networking.k8s.io/v1/networkpolicies"
PORT = 8080
KEYS = "/etc/tandem"
GRACE_SECONDS = 45
STARTED, PAUSED = "tandem.started", "tandem.paused"
"""Annotations: of the Secret, that there was a Pod; of the Pod, that its programs were halted."""
SPEC_KEY, KEYS_KEY, ISSUER_KEY = "spec.json", "jwks.json", "issuer"
VARIABLE_KEY, OWN_VARIABLE_KEY = "env.", "own."
"""Beginnings of a Secret's keys: the creator's variables, and those that the fleet sets unless the creator does."""
_PRIVATE = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]
_PRIVATE_6 = ["fc00::/7", "fe80::/10"]
_SHARED_MEMORY_MB = 1024
_HOMES = {"box": "/sandbox", "plain": "/home/gem", "restricted": "/home/gem"}
"""Where the volume is, by level: the box with its checkpoints, or the agent's home."""
_WRITABLE = {
    "run": ("/run", "Memory", "256Mi"),
    "tmp": ("/tmp", "", "2Gi"),
    "var-tmp": ("/var/tmp", "", "1Gi"),
    "log": ("/var/log/gem", "", "256Mi"),
}
"""Folders that are written to where the root is read-only: path, medium and limit."""


def name_of(sandbox: str) -> str:
    """What a sandbox's objects are called. An id that is no name gives no other object's path."""
    return f"tandem-{quote(sandbox, safe='')}"


def selector(fleet: str) -> dict[str, str]:
    """The query that chooses a fleet's objects."""
    return {"labelSelector": f"{FLEET_LABEL}={fleet}"}


def secret(fleet: str, order: Order) -> Object:
    """The Secret: what the sandbox is made of, its variables and the keys whose tokens it accepts."""
    texts = {SPEC_KEY: order.spec.model_dump_json(exclude={"environment"}), KEYS_KEY: order.keys, ISSUER_KEY: order.issuer}
    texts |= {f"{VARIABLE_KEY}{name}": value for name, value in order.spec.environment.items()}
    texts |= {f"{OWN_VARIABLE_KEY}{name}": value for name, value in order.environment.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": name_of(order.id),
            "labels": {FLEET_LABEL: fleet, ID_LABEL: order.id},
            "annotations": {NAME_LABEL: order.name, TENANT_LABEL: order.tenant},
        },
        "data": {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()},
    }


def texts_of(made: Object) -> dict[str, str]:
    """What is in a Secret. Raises ValueError where it is no text."""
    return {name: base64.b64decode(value).decode() for name, value in (made.get("data") or {}).items()}


def spec_of(made: Object) -> Spec:
    """What a Secret says that the sandbox is made of. Raises ValueError or KeyError where it does not say."""
    texts = texts_of(made)
    environment = {name.removeprefix(VARIABLE_KEY): text for name, text in texts.items() if name.startswith(VARIABLE_KEY)}
    spec = Spec.model_validate_json(texts[SPEC_KEY])
    return Spec.model_validate(spec.model_dump() | {"environment": environment})


def _owned(owner: Object, kind: str, version: str, body: Object, annotations: Mapping[str, str] | None = None) -> Object:
    """An object that goes when its sandbox's Secret does."""
    told = owner["metadata"]
    metadata: Object = {
        "name": told["name"],
        "labels": told["labels"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": told["name"], "uid": told["uid"]}],
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata | ({"annotations": annotations} if annotations else {})} | body


def _chosen(owner: Object) -> dict[str, str]:
    return {ID_LABEL: owner["metadata"]["labels"][ID_LABEL]}


def volume_claim(owner: Object, size: str, storage_class: str) -> Object:
    """The sandbox's files."""
    spec: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return _owned(owner, "PersistentVolumeClaim", "v1", {"spec": spec | ({"storageClassName": storage_class} if storage_class else {})})


def service(owner: Object) -> Object:
    """Its name in the cluster's DNS."""
    ports = [{"name": "http", "port": PORT, "targetPort": PORT}]
    return _owned(owner, "Service", "v1", {"spec": {"clusterIP": "None", "selector": _chosen(owner), "ports": ports}})


def network_policy(owner: Object) -> Object:
    """Who reaches whom: no sandbox reaches another, and none reaches private addresses, those of the cluster among them."""
    others = {"namespaceSelector": {}, "podSelector": {"matchExpressions": [{"key": ID_LABEL, "operator": "DoesNotExist"}]}}
    names = {"namespaceSelector": {}, "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}
    spec = {
        "podSelector": {"matchLabels": _chosen(owner)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [others], "ports": [{"port": PORT, "protocol": "TCP"}]}],
        "egress": [
            {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": _PRIVATE}}, {"ipBlock": {"cidr": "::/0", "except": _PRIVATE_6}}]},
            {"to": [names], "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
        ],
    }
    return _owned(owner, "NetworkPolicy", "networking.k8s.io/v1", {"spec": spec})


def pod(owner: Object) -> Object:
    """The Pod. Raises ValueError or KeyError where its Secret does not say what it is made of."""
    spec, name = spec_of(owner), owner["metadata"]["name"]
    shared = min(_SHARED_MEMORY_MB, spec.memory_mb // 2)
    volumes: list[Object] = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{shared}Mi"}},
        {"name": "keys", "secret": {"secretName": name, "items": [{"key": KEYS_KEY, "path": KEYS_KEY}], "defaultMode": 0o444}},
        {"name": "sandbox", "persistentVolumeClaim": {"claimName": name}},
    ]
    pod_spec: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostname": owner["metadata"]["annotations"][NAME_LABEL],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "containers": [_container(owner, spec)],
        "volumes": volumes,
    }
    if spec.runtime:
        pod_spec["runtimeClassName"] = spec.runtime
    if spec.level == "restricted":
        _restrict(pod_spec)
    return _owned(owner, "Pod", "v1", {"spec": pod_spec})


def _container(owner: Object, spec: Spec) -> Object:
    context: Object = {"capabilities": {"drop": ["NET_RAW"]}}
    if spec.level == "box":
        context |= {"procMount": "Unmasked", "seccompProfile": {"type": "Localhost", "localhostProfile": "tandem.json"}}
    return {
        "name": "sandbox",
        "image": spec.image,
        "imagePullPolicy": "IfNotPresent",
        "env": _variables(owner, spec),
        "ports": [{"name": "http", "containerPort": PORT}],
        "startupProbe": _probe("/healthz", 1, 120),
        "readinessProbe": _probe("/readyz", 2, 3),
        "livenessProbe": _probe("/healthz", 10, 6),
        "resources": _resources(spec),
        "securityContext": context,
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "keys", "mountPath": KEYS, "readOnly": True},
            {"name": "sandbox", "mountPath": _HOMES[spec.level]},
        ],
    }


def _probe(path: str, seconds: int, failures: int) -> Object:
    return {"httpGet": {"path": path, "port": PORT}, "periodSeconds": seconds, "timeoutSeconds": 5, "failureThreshold": failures}


def _resources(spec: Spec) -> Object:
    limits = {"memory": f"{spec.memory_mb}Mi", "ephemeral-storage": "5Gi"} | ({"cpu": f"{spec.cpus:g}"} if spec.cpus else {})
    requests = {
        "cpu": f"{round(min(0.25, spec.cpus or 0.25) * 1000) or 1}m",
        "memory": f"{min(512, spec.memory_mb)}Mi",
        "ephemeral-storage": "1Gi",
    }
    return {"requests": requests, "limits": limits}


def _variables(owner: Object, spec: Spec) -> list[Object]:
    """Those that the Secret holds, and those that say who the sandbox is."""
    name, texts = owner["metadata"]["name"], texts_of(owner)
    number = owner["metadata"]["labels"][ID_LABEL]
    own = {
        "JWT_JWKS_FILE": f"{KEYS}/{KEYS_KEY}",
        "JWT_AUDIENCE": number,
        "JWT_ISSUER": texts[ISSUER_KEY],
        "IDENTITY_SANDBOX_ID": number,
    }
    keys = {key.removeprefix(OWN_VARIABLE_KEY): key for key in texts if key.startswith(OWN_VARIABLE_KEY)}
    keys |= {one: f"{VARIABLE_KEY}{one}" for one in spec.environment}
    kept = [{"name": one, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}} for one, key in keys.items() if one not in own]
    return kept + [{"name": one, "value": value} for one, value in own.items()]


def _restrict(pod_spec: Object) -> None:
    """What the Pod Security Standard "restricted" demands, with a root that nobody writes to."""
    pod_spec["securityContext"] = {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    [container] = pod_spec["containers"]
    container["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for name, (path, medium, limit) in _WRITABLE.items():
        container["volumeMounts"].append({"name": name, "mountPath": path})
        folder = {"sizeLimit": limit} | ({"medium": medium} if medium else {})
        pod_spec["volumes"].append({"name": name, "emptyDir": folder})
