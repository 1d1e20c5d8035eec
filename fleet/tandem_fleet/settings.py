"""What the fleet is told by its environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tandem_fleet.errors import InvalidError
from tandem_fleet.oidc.settings import ProviderSettings
from tandem_fleet.outbound import Network, read_networks

_FLEET = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_QUANTITY = re.compile(r"[1-9][0-9]{0,8}(Mi|Gi|Ti)")
PODS = ("plain", "agent-sandbox")
BACKENDS = ("docker", "kubernetes")


@dataclass(frozen=True)
class KubernetesSettings:
    """Where sandboxes are on a cluster."""

    namespace: str
    """TANDEM_NAMESPACE: the namespace that sandboxes are made in (tandem-sandboxes)."""
    storage_class: str
    """TANDEM_STORAGE_CLASS: class of their volumes; the cluster's default unless said otherwise."""
    volume_size: str
    """TANDEM_VOLUME_SIZE: what each volume may hold (10Gi)."""
    agent_sandbox: bool
    """TANDEM_PODS: `plain` (default), or `agent-sandbox` where that project's controller shall make the Pods."""
    kubeconfig: str
    """TANDEM_KUBECONFIG: how the cluster is reached. Without it: KUBECONFIG, the Pod that this runs in, or ~/.kube/config."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "KubernetesSettings":
        """Read the variables. Raises `InvalidError`."""
        namespace = environment.get("TANDEM_NAMESPACE") or "tandem-sandboxes"
        size = environment.get("TANDEM_VOLUME_SIZE") or "10Gi"
        pods = environment.get("TANDEM_PODS") or "plain"
        if pods not in PODS:
            raise InvalidError(f"TANDEM_PODS is one of {', '.join(PODS)}; not {pods!r}")
        if not _NAMESPACE.fullmatch(namespace):
            raise InvalidError("TANDEM_NAMESPACE takes lower-case letters, digits and hyphens, 63 at most")
        if not _QUANTITY.fullmatch(size):
            raise InvalidError("TANDEM_VOLUME_SIZE takes a number with Mi, Gi or Ti, as 10Gi")
        return cls(
            namespace=namespace,
            storage_class=environment.get("TANDEM_STORAGE_CLASS", ""),
            volume_size=size,
            agent_sandbox=pods == "agent-sandbox",
            kubeconfig=environment.get("TANDEM_KUBECONFIG", ""),
        )


@dataclass(frozen=True)
class Settings:
    """Each is a variable of the same name in capitals, behind `TANDEM_`."""

    state: Path
    """TANDEM_STATE: folder of the signing key, the service's key, its socket and the SQLite file (~/.local/state/tandem)."""
    store: str
    """TANDEM_STORE: URL of the store; SQLite in the folder unless said otherwise, or `postgresql+asyncpg://user@host/database`."""
    fleet: str
    """TANDEM_FLEET: name of the fleet (default). Fleets on one engine do not see each other's sandboxes."""
    backend: str
    """TANDEM_BACKEND: the kind of engine, `docker` (default) or `kubernetes`."""
    kubernetes: KubernetesSettings
    """What the engine `kubernetes` is told."""
    network: str
    """TANDEM_NETWORK: the engine's network that sandboxes join and are reached on. Without it they are published on loopback."""
    image: str
    """TANDEM_IMAGE: the image of sandboxes for which none is named (tandem)."""
    webhook_networks: tuple[Network, ...]
    """TANDEM_WEBHOOK_NETWORKS: private networks that webhooks may lead to, with commas (none)."""
    provider: ProviderSettings | None
    """Where people sign in; None where they do by links alone."""
    url: str
    """TANDEM_URL: where a fleet's service answers, for the command line. Without it the command line works by itself."""
    key: str
    """TANDEM_KEY: the service's key. `serve` makes one in the folder's file `key` unless it is given one."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the variables. Raises `InvalidError`."""
        base = environment.get("XDG_STATE_HOME") or str(Path(environment.get("HOME") or "/").joinpath(".local/state"))
        state = Path(environment.get("TANDEM_STATE") or f"{base}/tandem").absolute()
        fleet = environment.get("TANDEM_FLEET") or "default"
        if not _FLEET.fullmatch(fleet):
            raise InvalidError("TANDEM_FLEET takes lower-case letters, digits and hyphens, 32 at most")
        backend = environment.get("TANDEM_BACKEND") or "docker"
        if backend not in BACKENDS:
            raise InvalidError(f"TANDEM_BACKEND is one of {', '.join(BACKENDS)}; not {backend!r}")
        return cls(
            state=state,
            store=environment.get("TANDEM_STORE") or f"sqlite+aiosqlite:///{state}/{fleet}.db",
            fleet=fleet,
            backend=backend,
            kubernetes=KubernetesSettings.of(environment),
            network=environment.get("TANDEM_NETWORK", ""),
            image=environment.get("TANDEM_IMAGE") or "tandem",
            webhook_networks=_networks(environment.get("TANDEM_WEBHOOK_NETWORKS", "")),
            provider=ProviderSettings.of(environment),
            url=environment.get("TANDEM_URL", "").rstrip("/"),
            key=environment.get("TANDEM_KEY", ""),
        )

    @property
    def socket(self) -> Path:
        """The service's Unix socket, for this machine's command line."""
        return self.state / f"{self.fleet}.sock"

    @property
    def snapshots(self) -> Path:
        """Folder of the snapshots' files."""
        return self.state / f"{self.fleet}-snapshots"

    @property
    def lock(self) -> Path:
        """Locked by the process that works on this fleet."""
        return self.state / f"{self.fleet}.lock"


def _networks(text: str) -> tuple[Network, ...]:
    try:
        return read_networks(text)
    except InvalidError as error:
        raise InvalidError(f"TANDEM_WEBHOOK_NETWORKS: {error}") from error


def current() -> Settings:
    """What this process's environment says."""
    return Settings.of(os.environ)
