"""What is to be seen: the desktop, the browser on it, and what says of the whole machine how it is."""

from functools import partial

from sandbox_server import __version__
from sandbox_server.core.operation import Feature
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.focus import follow_focus
from sandbox_server.drivers.browser.on_screen import PageOnScreen
from sandbox_server.drivers.browser.readable import Readable
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.browser.uploads import PageUploads
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import Downloads
from sandbox_server.drivers.devtools.kept_rules import KeptRules
from sandbox_server.drivers.devtools.storage import Storage
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.vnc.server import VncServer
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.turns import InputTurns
from sandbox_server.features.box.checks import BoxChecks
from sandbox_server.features.browser.captcha import Captchas
from sandbox_server.features.browser.console import ConsoleLog
from sandbox_server.features.browser.cookies import Cookies
from sandbox_server.features.browser.devices import Devices
from sandbox_server.features.browser.downloads import DownloadList
from sandbox_server.features.browser.elements import ScreenElements
from sandbox_server.features.browser.network import Network
from sandbox_server.features.browser.page.elements import PageElements
from sandbox_server.features.browser.page.forms import Forms
from sandbox_server.features.browser.page.input import PageInput
from sandbox_server.features.browser.page.navigation import Navigation
from sandbox_server.features.browser.page.page_operation import hints_for_each_caller
from sandbox_server.features.browser.page.reading import Reading
from sandbox_server.features.browser.page.waiting import Waiting
from sandbox_server.features.browser.pictures import Pictures
from sandbox_server.features.browser.record import PageRecordings
from sandbox_server.features.browser.running import BrowserRunning
from sandbox_server.features.browser.screen import BrowserScreen
from sandbox_server.features.browser.state import BrowserState
from sandbox_server.features.browser.tabs import BrowserTabs
from sandbox_server.features.browser.tools.acting import ActingTools
from sandbox_server.features.browser.tools.listing import Outline
from sandbox_server.features.browser.tools.reading import ReadingTools
from sandbox_server.features.control.privacy import ClearClipboard, SecretFocus
from sandbox_server.features.control.revocation_hooks import A_PROGRAM, ReleaseKeys
from sandbox_server.features.display import Display
from sandbox_server.features.doctor import Doctor
from sandbox_server.features.observe.observe import Observe
from sandbox_server.features.vnc import Vnc
from sandbox_server.parts.shared import Opened, Part, Shared


def part(shared: Shared) -> Part:
    """The desktop, the browser's window on it and its pages, and the doctor, who looks at the desktop too."""
    settings, files, paths = shared.settings, shared.files, shared.settings.paths
    desktop = Desktop(settings.display.name)
    turns = InputTurns(desktop)
    shared.control.driving.follow(ReleaseKeys(turns))
    shared.control.driving.follow(ClearClipboard(desktop.clipboard))
    hidden = shared.hidden
    display = Display(desktop.screen, PulseAudio(paths.sound), files, hidden)
    owner, has_browser = shared.owner, "browser" not in settings.components.left_out
    devtools = Devtools(owner.socket, KeptRules(f"{paths.run}/browser-rules.json"), hidden)
    recordings = PageRecordings(owner, files, hidden)
    downloads = Downloads(devtools, files, paths.downloads, settings.downloads)
    shared.desktop, shared.downloads = desktop, downloads
    session = BrowserSession(owner, lambda: not shared.control.driving.holding.admits(A_PROGRAM, "cdp"))
    uploads, elements = PageUploads(files, paths.spool), ElementIndex()
    observe = Observe(f"{paths.run}/observe", ("/", settings.box.directory, settings.agent.workspace))
    shared.activity.recordings.extend((lambda: display.recording, lambda: recordings.recording))
    features: tuple[Feature, ...] = (
        Doctor(shared.processes, settings, desktop, shared.liveness, BoxChecks(shared.box, quota=settings.box.checkpoint_quota).probes()),
        observe,
        Pictures(desktop),
        BrowserScreen(desktop, turns, Devices(owner).emulate if has_browser else None),
        *((BrowserRunning(owner, desktop, session.drop),) * has_browser),
        ScreenElements(desktop, turns, PageOnScreen(session, elements)),
        Vnc(VncServer(paths.vnc), desktop, shared.control.driving),
        display,
        recordings,
        *network_features(devtools, downloads, files),
        *page_features(session, elements, uploads, shared.processes),
        Waiting(session, devtools, downloads, files),
    )
    watched = has_browser and settings.control.private_focus
    watching: Opened = (SecretFocus(shared.control.driving, partial(follow_focus, owner.socket)),) if watched else ()
    opened: Opened = (desktop, turns, *watching, display, devtools, downloads, recordings, observe, uploads, session)
    return Part(features, opened, (hints_for_each_caller(session),))


def network_features(devtools: Devtools, downloads: Downloads, files: Files) -> tuple[Feature, ...]:
    """The browser's requests, messages, cookies, state and downloads."""
    return (
        Network(devtools, files, __version__),
        ConsoleLog(devtools, files),
        Cookies(devtools),
        BrowserState(devtools, Storage(devtools), files),
        DownloadList(devtools, downloads),
    )


def page_features(session: BrowserSession, elements: ElementIndex, uploads: PageUploads, processes: Processes) -> tuple[Feature, ...]:
    """Everything on the browser's pages and tabs."""
    navigation, tabs = Navigation(session), BrowserTabs(session)
    hands, forms = PageInput(session, elements), Forms(session, elements, uploads)
    reading, outline = Reading(session, elements, Readable(processes)), Outline(session, elements)
    return (
        navigation,
        hands,
        forms,
        reading,
        PageElements(session, elements),
        tabs,
        Captchas(session),
        ActingTools(session, outline, navigation, hands, forms, tabs),
        ReadingTools(session, outline, reading),
    )
