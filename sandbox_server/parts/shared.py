"""What more than one part uses, and what a part is."""

import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sandbox_server.core.audit import Audit
from sandbox_server.core.dispatch import Guard
from sandbox_server.core.operation import Feature
from sandbox_server.core.receipt import Receipt
from sandbox_server.drivers.box import isolation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.browser.owner import BrowserClient
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.credentials.shares import PortShares
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.ipc.connect_with_retry import RESTART_SECONDS
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.proxy.configuration import DIRECT_PORT, MAPPED_PORT
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.log import EventLog
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.stats.liveness import Liveness
from sandbox_server.drivers.stats.toolbox import Toolbox
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.parts import control_of
from sandbox_server.settings import Settings

if TYPE_CHECKING:
    from sandbox_server.drivers.devtools.downloads import Downloads
    from sandbox_server.drivers.x11.desktop import Desktop

type Fact = Callable[[], bool]
"""Something that holds at this moment, or not."""
type Way = Callable[[str], str | None]
"""Gives host and port of the proxy by which a host is reached, or None."""
type Receipted = Callable[[str, float, float], Awaitable[Receipt | None]]
type Opened = tuple[AbstractAsyncContextManager[Any], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the product: features, what has to be opened for them, in that order, and guards that every call passes."""

    features: tuple[Feature, ...]
    opened: Opened = ()
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Activity:
    """What goes on without a request; every part says what of its own does."""

    commands: list[Fact] = field(default_factory=list)
    """Whether commands or code run."""
    recordings: list[Fact] = field(default_factory=list)
    """Whether something is recorded."""

    def busy(self) -> bool:
        """Whether any command or code runs."""
        return _any(self.commands)

    def active(self) -> bool:
        """Whether anything goes on."""
        return self.busy() or _any(self.recordings)


def _any(facts: Iterable[Fact]) -> bool:
    return any(fact() for fact in facts)


class Shared:
    """What more than one part uses; nothing is opened yet, and only what boot found out is read.

    `new`: no process has served before this one since the container started.
    """

    def __init__(self, settings: Settings, *, new: bool = False) -> None:
        self.settings = settings
        self.new = new
        self.found = isolation.read(settings.paths.isolation)
        self.audit = Audit()
        self.journal = Journal(EventLog(f"{settings.paths.recorder}/events", settings.recorder.max_bytes), on=settings.recorder.on)
        self.activity = Activity()
        self.liveness = liveness_of(settings, self.found)
        self.processes = Processes(settings.paths.socket("spawn"), RESTART_SECONDS)
        self.files = Files(self.processes, home=settings.agent.home)
        self.toolbox = Toolbox(self.processes)
        self.owner = BrowserClient(settings.paths.socket("cdp"))
        has_browser = "browser" not in settings.components.left_out
        self.control = control_of(JsonFile(settings.paths.control), settings.control, self.owner if has_browser else None)
        self.hidden: Fact = lambda: self.control.driving.holding.private is not None
        """Whether a person is private: nothing of the screen and the pages may be kept then."""
        self.journal.private = self.hidden
        self.ports = _agent_ports(settings)
        self.shares = PortShares(JsonFile(f"{settings.paths.run}/shares.json"))
        self.is_asked: Callable[[str], bool] = lambda _: False
        """Whether a request to a person is open, by its id; their part puts its own answer here."""
        self.revoked = Revoked(JsonFile(f"{settings.paths.run}/revoked.json"), settings.auth.session_ttl)
        self.desktop: Desktop | None = None
        """The screen, once its part is there; None where there is none."""
        self.downloads: Downloads | None = None
        self.receipts: Receipted | None = None
        """Gives what a person changed, once its part is there."""
        self.way: Way = lambda _: None
        """How a host is reached; the forward proxy puts its own answer here."""
        self.box = BoxClient(settings.paths.socket("box"), self.found, RESTART_SECONDS)


def liveness_of(settings: Settings, found: isolation.Isolation) -> Liveness:
    """Asks whoever starts processes, and whoever keeps the box where there is one."""
    box = {"box": settings.paths.socket("box")} if found.level == "box" else {}
    return Liveness({"spawner": settings.paths.socket("spawn")} | box)


def _agent_ports(settings: Settings) -> Ports:
    """The ports that are not the sandbox's own: nor its users', where the container was started as root and has such users."""
    users = settings.users
    own_users = {users.control_uid, users.desktop_uid} if os.geteuid() == users.control_uid else set()
    ports = {"jupyter": settings.code.jupyterlab_port, "code-server": settings.code.code_server_port}
    editors = [port for name, port in ports.items() if name not in settings.components.left_out]
    return Ports({settings.gateway.port, settings.proxy.port, DIRECT_PORT, MAPPED_PORT}, own_users, editors=editors)
