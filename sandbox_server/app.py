"""The composition root: settings make drivers, drivers make features, features make the application."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette

from sandbox_server import __version__
from sandbox_server.admission import admission, agent_ports
from sandbox_server.core import logs
from sandbox_server.core.audit import Audit
from sandbox_server.core.custom import load_features
from sandbox_server.core.dispatch import Dispatcher, Guard, require_scope, require_tool
from sandbox_server.core.http import create_app
from sandbox_server.core.http.serving import serve_on
from sandbox_server.core.operation import Feature, Operation, operations
from sandbox_server.drivers import isolation, system
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.browser.elements import Elements
from sandbox_server.drivers.browser.on_screen import PageOnScreen
from sandbox_server.drivers.browser.owner import Owner
from sandbox_server.drivers.browser.readable import Readable
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.browser.uploads import Uploads as BrowserUploads
from sandbox_server.drivers.components import Components
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import Downloads
from sandbox_server.drivers.devtools.storage import Storage
from sandbox_server.drivers.documents import Documents
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.hooks import HookStore
from sandbox_server.drivers.hub import Hub
from sandbox_server.drivers.isolation import Isolation
from sandbox_server.drivers.json_file import JsonFile
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.sessions import Sessions as KernelSessions
from sandbox_server.drivers.markdown.conversion import Conversion
from sandbox_server.drivers.markdown.reach import Reach
from sandbox_server.drivers.markdown.web import Web
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.script import Scripts
from sandbox_server.drivers.nodes.sessions import Sessions as NodeSessions
from sandbox_server.drivers.patience import RESTART_SECONDS
from sandbox_server.drivers.process import Processes
from sandbox_server.drivers.ripgrep import Ripgrep
from sandbox_server.drivers.shells.fenced import FencedShells
from sandbox_server.drivers.shells.shells import Shells
from sandbox_server.drivers.shells.store import ShellStore
from sandbox_server.drivers.shells.tmux import Tmux
from sandbox_server.drivers.sound import Sound
from sandbox_server.drivers.toolbox import Toolbox
from sandbox_server.drivers.vnc.server import VncServer
from sandbox_server.drivers.watches.watches import Watches
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.turns import Turns
from sandbox_server.features.bash.feature import Bash
from sandbox_server.features.box.archives import CheckpointArchives
from sandbox_server.features.box.automatic import AutomaticCheckpoints
from sandbox_server.features.box.capabilities import CapabilityReport
from sandbox_server.features.box.checkpoints import Checkpoints
from sandbox_server.features.box.checks import BoxChecks
from sandbox_server.features.box.itself import BoxItself
from sandbox_server.features.box.renewal import Renewal
from sandbox_server.features.box.suspension import Suspension
from sandbox_server.features.browser.captcha import Captchas
from sandbox_server.features.browser.console import ConsoleLog
from sandbox_server.features.browser.cookies import Cookies
from sandbox_server.features.browser.devices import Devices
from sandbox_server.features.browser.downloads import DownloadList
from sandbox_server.features.browser.elements import ScreenElements
from sandbox_server.features.browser.network import Network
from sandbox_server.features.browser.page.driving import hints_for_each_caller
from sandbox_server.features.browser.page.elements import PageElements
from sandbox_server.features.browser.page.forms import Forms
from sandbox_server.features.browser.page.input import PageInput
from sandbox_server.features.browser.page.navigation import Navigation
from sandbox_server.features.browser.page.reading import Reading
from sandbox_server.features.browser.page.waiting import Waiting
from sandbox_server.features.browser.pictures import Pictures
from sandbox_server.features.browser.record import PageRecordings
from sandbox_server.features.browser.running import BrowserRunning
from sandbox_server.features.browser.screen import BrowserScreen
from sandbox_server.features.browser.state import BrowserState
from sandbox_server.features.browser.tabs import Tabs
from sandbox_server.features.browser.tools.acting import ActingTools
from sandbox_server.features.browser.tools.listing import Outline
from sandbox_server.features.browser.tools.reading import ReadingTools
from sandbox_server.features.code.feature import Code
from sandbox_server.features.code.runners import BashRunner, NodeRunner, PythonRunner
from sandbox_server.features.description import Description
from sandbox_server.features.display import Display
from sandbox_server.features.doctor import Doctor
from sandbox_server.features.file.archives import FileArchives
from sandbox_server.features.file.changes import FileChanges
from sandbox_server.features.file.content import FileContent
from sandbox_server.features.file.editor import Editor
from sandbox_server.features.file.listing import FileListing
from sandbox_server.features.file.operations import FileOperations
from sandbox_server.features.file.search import FileSearch
from sandbox_server.features.file.transfer import FileTransfer
from sandbox_server.features.file.uploads import Uploads
from sandbox_server.features.health import Health
from sandbox_server.features.hooks import Hooks
from sandbox_server.features.jupyter.feature import Jupyter
from sandbox_server.features.mcp.feature import McpServers
from sandbox_server.features.nodejs.feature import NodeJS, Room
from sandbox_server.features.observe.feature import Observe
from sandbox_server.features.sandbox import Sandbox
from sandbox_server.features.shell.feature import Shell
from sandbox_server.features.shell.sessions import Sessions
from sandbox_server.features.skills.feature import Skills
from sandbox_server.features.skills.folders import SkillFolders
from sandbox_server.features.util import Markdown
from sandbox_server.features.vnc import Vnc
from sandbox_server.features.watch import FileWatch
from sandbox_server.settings import Settings

type Opened = tuple[AbstractAsyncContextManager[Any], ...]


@dataclass(frozen=True, slots=True)
class Product:
    """Everything that was composed: the features, what has to be opened for them, and the guards that every call passes."""

    features: tuple[Feature, ...]
    opened: Opened
    guards: tuple[Guard, ...]


def compose(settings: Settings) -> Product:
    """Build every driver and feature; nothing is opened or started yet, and only what boot found out is read."""
    paths = settings.paths
    audit = Audit()
    found = isolation.read(paths.isolation)
    processes = Processes(paths.socket("spawn"), RESTART_SECONDS)
    bash = Bash(
        processes,
        workspace=settings.agent.workspace,
        max_sessions=settings.bash.max_sessions,
        output_bytes=settings.bash.output_bytes,
        spool=paths.spool,
    )
    files, watches = Files(processes, home=settings.agent.home), Watches(processes)
    tmux = Tmux(processes, paths.shells)
    sessions = Sessions(
        Shells(processes, files, tmux, paths.shells),
        ShellStore(f"{paths.run}/shells.json"),
        limit=settings.shell.max_sessions,
        evict_after=settings.shell.evict_after,
    )
    toolbox = Toolbox(processes)
    code = running_code(processes, files, toolbox, settings)
    box = BoxClient(paths.socket("box"), found, RESTART_SECONDS)
    renewal = Renewal(box, sessions)

    def busy() -> bool:
        return bash.busy or sessions.busy or code.busy

    checkpoints = Checkpoints(box, renewal, quota=settings.box.checkpoint_quota)
    automatic = AutomaticCheckpoints(checkpoints, when=settings.box.checkpoint_before if found.rung == "box" else "never", busy=busy)
    desktop = Desktop(settings.display.name)
    turns = Turns(desktop)
    display = Display(desktop.screen, Sound(paths.sound), files)
    owner, has_browser = Owner(paths.socket("cdp")), "browser" not in settings.components.left_out
    devtools, recordings = Devtools(owner.socket), PageRecordings(owner, files)
    downloads = Downloads(devtools, files, paths.downloads, settings.downloads)
    session, uploads = BrowserSession(owner), BrowserUploads(files, paths.spool)

    def active() -> bool:
        return busy() or display.recording or recordings.recording

    suspension = Suspension(box, idle_seconds=settings.box.idle_suspend, busy=active, messages=owner.messages)
    observe = Observe(f"{paths.run}/observe", ("/", settings.box.directory, settings.agent.workspace))
    features: list[Feature] = [
        *admission(settings, processes),
        Health(Components(component_sockets(settings, found)), audit),
        Doctor(processes, settings, desktop, BoxChecks(box, quota=settings.box.checkpoint_quota).probes()),
        Sandbox(toolbox, settings.agent, __version__),
        observe,
        Hooks(HookStore(f"{paths.run}/hooks.json"), settings.hooks.shutdown),
        bash,
        Shell(sessions, FencedShells(processes, paths.agent_run), workspace=settings.agent.workspace),
        *code.features,
        *file_features(files, processes, settings),
        FileWatch(files, watches),
        Markdown(Conversion(processes), web(settings), files, paths.spool),
        Skills(files, SkillFolders(files, processes), JsonFile(f"{paths.run}/skills.json"), settings.skills.paths),
        checkpoints,
        CheckpointArchives(box, quota=settings.box.checkpoint_quota, spool=paths.spool),
        suspension,
        BoxItself(box, renewal),
        CapabilityReport(box.isolation),
        Pictures(desktop),
        BrowserScreen(desktop, turns, Devices(owner).emulate if has_browser else None),
        *([BrowserRunning(owner, desktop, session.drop)] * has_browser),
        ScreenElements(desktop, turns, PageOnScreen(session, Elements())),
        Vnc(VncServer(paths.vnc), desktop),
        display,
        recordings,
        *network_features(devtools, downloads, files),
        McpServers(Hub(paths.socket("mcp"))),
    ]
    features += [*page_features(session, uploads), Waiting(session, devtools, downloads, files), *load_features(paths.custom_tools)]
    features.append(Description(lambda: list(every_operation(features)), __version__))
    opened: Opened = (
        bash,
        files,
        watches,
        tmux,
        sessions,
        *code.opened,
        renewal,
        suspension,
        desktop,
        turns,
        display,
        devtools,
        downloads,
        recordings,
        observe,
        uploads,
        session,
    )
    guards = (audit, require_scope, require_tool, suspension.guard, automatic.guard, hints_for_each_caller(session))
    return Product(tuple(features), opened, guards)


@dataclass(frozen=True, slots=True)
class RunningCode:
    """What runs code: its features, what has to be opened for them, and the sessions that may be at work."""

    features: tuple[Feature, ...]
    opened: Opened
    sessions: tuple[KernelSessions, NodeSessions]

    @property
    def busy(self) -> bool:
        """Whether code runs in any session."""
        return any(sessions.busy for sessions in self.sessions)


def running_code(processes: Processes, files: Files, toolbox: Toolbox, settings: Settings) -> RunningCode:
    """Python in kernels, JavaScript in Node.js, and both by one operation."""
    code, disabled, workspace = settings.code, settings.components.left_out, settings.agent.workspace
    memory, output = code.memory_bytes or system.memory_bytes() * 3 // 4, code.output_bytes
    has_kernels = "jupyter" not in disabled
    kernels = Kernels(processes, folder=settings.paths.kernels, default=code.python, memory=memory, warm=code.warm, enabled=has_kernels)
    python = KernelSessions(kernels, limit=code.max_kernels, idle_timeout=code.kernel_idle)
    nodes = Nodes(processes, default=code.node, enabled="nodejs-repl" not in disabled)
    javascript = NodeSessions(processes, nodes, workspace=workspace, limit=code.max_nodes, memory=memory)
    scripts = Scripts(processes, files, workspace=workspace)
    runners = PythonRunner(python, output), NodeRunner(scripts, javascript, output, memory), BashRunner(processes, output)
    features = (
        Jupyter(python, output_bytes=output),
        NodeJS(scripts, javascript, toolbox, Room(output, memory)),
        Code(kernels, nodes, *runners),
    )
    return RunningCode(features, (kernels, python, javascript), (python, javascript))


def network_features(devtools: Devtools, downloads: Downloads, files: Files) -> list[Feature]:
    """The browser's requests, messages, cookies, state and downloads."""
    return [
        Network(devtools, files, __version__),
        ConsoleLog(devtools, files),
        Cookies(devtools),
        BrowserState(devtools, Storage(devtools), files),
        DownloadList(devtools, downloads),
    ]


def component_sockets(settings: Settings, found: Isolation) -> dict[str, str]:
    """The sockets on which the components answer once they are ready, except those that were left out."""
    paths = settings.paths
    parts = {
        "browser": {"browser": paths.socket("cdp")},
        "desktop": {"desktop": settings.display.socket} | ({"desktop-bus": paths.bus} if system.has_name() else {}),
        "mcp": {"mcp": paths.socket("mcp")},
        "vnc": {"vnc": paths.vnc},
    }
    sockets = {"gateway": paths.socket("gateway"), "spawner": paths.socket("spawn")}
    if found.rung == "box":
        sockets["box"] = paths.socket("box")
    for component in parts.keys() - settings.components.left_out:
        sockets |= parts[component]
    return sockets


def page_features(session: BrowserSession, uploads: BrowserUploads) -> list[Feature]:
    """Everything on the browser's pages and tabs."""
    elements = Elements()
    navigation, tabs = Navigation(session), Tabs(session)
    hands, forms = PageInput(session, elements), Forms(session, elements, uploads)
    reading, outline = Reading(session, elements, Readable()), Outline(session, elements)
    return [
        navigation,
        hands,
        forms,
        reading,
        PageElements(session, elements),
        tabs,
        Captchas(session),
        ActingTools(session, outline, navigation, hands, forms, tabs),
        ReadingTools(session, outline, reading),
    ]


def file_features(files: Files, processes: Processes, settings: Settings) -> list[Feature]:
    """Everything on the agent's files but watching them."""
    workspace, limit = settings.agent.workspace, settings.files.max_upload_bytes
    content, changes, listing = FileContent(files), FileChanges(files), FileListing(files)
    search = FileSearch(files, Ripgrep(processes))
    return [
        content,
        changes,
        listing,
        search,
        FileArchives(files),
        FileTransfer(files, workspace=workspace, max_bytes=limit),
        Uploads(files, workspace=workspace, max_bytes=limit),
        Editor(files, Documents(processes)),
        FileOperations(content, search, listing, changes),
    ]


def web(settings: Settings) -> Web:
    """What fetches documents from the web."""
    fetching = settings.fetching
    reach = Reach(agent_ports(settings), fetching.allow)
    return Web(reach, settings.paths.spool, max_bytes=fetching.max_bytes, seconds=fetching.seconds)


def every_operation(features: list[Feature] | tuple[Feature, ...]) -> Iterator[Operation]:
    """The operations of all features."""
    for feature in features:
        yield from operations(feature)


def create(settings: Settings) -> Starlette:
    """Make the application; its lifespan opens the drivers in order and closes them in reverse."""
    product = compose(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in product.opened:
                await stack.enter_async_context(manager)
            yield

    return create_app(every_operation(product.features), Dispatcher(product.guards), lifespan)


def serve(settings: Settings, *, started: Callable[[], None]) -> None:
    """Serve on the API's socket until told to stop; `started` is called once it listens."""
    logs.configure(settings.logs.level)
    serve_on(settings.paths.socket("api"), create(settings), started=started)
