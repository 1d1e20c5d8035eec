"""The drivers that several builders use."""

from dataclasses import dataclass

from sandbox_server.drivers.box import isolation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.credentials.shares import PortShares
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.ipc.connect_with_retry import RESTART_SECONDS
from sandbox_server.drivers.ports.agent_ports import agent_ports, has_own_network
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.snapshots.snapshot_state import SnapshotState
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.spawn.process_environment import ProcessEnvironment
from sandbox_server.drivers.stats.liveness import Liveness
from sandbox_server.drivers.stats.toolbox import Toolbox
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.drivers.workload_identity.binding import BindingStore
from sandbox_server.settings import Settings


@dataclass(frozen=True, slots=True)
class MachineParts:
    """The settings and the drivers. Nothing is opened yet, and only boot's results are read."""

    settings: Settings
    isolation: isolation.Isolation
    processes: Processes
    environment: ProcessEnvironment
    """What new processes get beside the container's environment."""
    files: Files
    toolbox: Toolbox
    owner: BrowserClient
    """The client of the browser process."""
    box: BoxClient
    liveness: Liveness
    ports: Ports
    shares: PortShares
    revoked: Revoked
    bindings: BindingStore
    snapshot: SnapshotState

    @property
    def has_browser(self) -> bool:
        """Whether the browser was not left out."""
        return "browser" not in self.settings.components.left_out

    @property
    def has_own_network(self) -> bool:
        """Whether the box has a network of its own, which the egress policy guards."""
        return has_own_network(self.settings, self.isolation)


def build_machine(settings: Settings) -> MachineParts:
    """Make the drivers."""
    paths, found = settings.paths, isolation.read(settings.paths.isolation)
    environment = ProcessEnvironment()
    processes = Processes(paths.socket("spawn"), RESTART_SECONDS, environment)
    return MachineParts(
        settings=settings,
        isolation=found,
        processes=processes,
        environment=environment,
        files=Files(processes, home=settings.agent.home),
        toolbox=Toolbox(processes),
        owner=BrowserClient(paths.socket("cdp")),
        box=BoxClient(paths.socket("box"), found, RESTART_SECONDS),
        liveness=liveness_of(settings, found),
        ports=agent_ports(settings, found),
        shares=PortShares(JsonFile(f"{paths.run}/shares.json")),
        revoked=Revoked(JsonFile(f"{paths.run}/revoked.json"), settings.auth.session_ttl),
        bindings=BindingStore(JsonFile(f"{paths.run}/identity.json"), settings.identity.sandbox_id),
        snapshot=SnapshotState(JsonFile(f"{paths.run}/snapshot.json")),
    )


def liveness_of(settings: Settings, found: isolation.Isolation) -> Liveness:
    """Return the liveness check of the spawner, and of the box daemon if there is a box."""
    box = {"box": settings.paths.socket("box")} if found.level == "box" else {}
    return Liveness({"spawner": settings.paths.socket("spawn")} | box)
