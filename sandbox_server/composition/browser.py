"""The browser: its window, its pages, and its network traffic."""

from dataclasses import dataclass
from functools import partial

from sandbox_server import __version__
from sandbox_server.composition.activity import Activity
from sandbox_server.composition.approvals import ApprovalParts
from sandbox_server.composition.control import ControlParts
from sandbox_server.composition.desktop import DesktopAndInput, private_mode
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import Opened, ProductPart
from sandbox_server.core.dispatch import Guard
from sandbox_server.core.operation import Feature
from sandbox_server.drivers.browser.article import Readable
from sandbox_server.drivers.browser.browser_events import follow_focus
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.screen_elements import PageOnScreen
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.browser.uploads import PageUploads
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import Downloads
from sandbox_server.drivers.devtools.kept_rules import KeptRules
from sandbox_server.drivers.devtools.request_gate import RequestGateClient
from sandbox_server.drivers.devtools.storage import Storage
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.browser.browser_process import BrowserRunning
from sandbox_server.features.browser.captcha import Captchas
from sandbox_server.features.browser.computer_use.operations import ComputerUse
from sandbox_server.features.browser.console import ConsoleLog
from sandbox_server.features.browser.cookies import Cookies
from sandbox_server.features.browser.devices import Devices
from sandbox_server.features.browser.downloads import DownloadList
from sandbox_server.features.browser.network import Network
from sandbox_server.features.browser.page.elements import PageElements
from sandbox_server.features.browser.page.forms import Forms
from sandbox_server.features.browser.page.input import PageInput
from sandbox_server.features.browser.page.navigation import NavigateRequest, Navigation
from sandbox_server.features.browser.page.page_operation import hints_for_each_caller
from sandbox_server.features.browser.page.reading import Reading
from sandbox_server.features.browser.page.waiting import Waiting
from sandbox_server.features.browser.page_recording import PageRecordings
from sandbox_server.features.browser.screen import BrowserScreen
from sandbox_server.features.browser.screen_elements import ScreenElements
from sandbox_server.features.browser.storage_state import BrowserState
from sandbox_server.features.browser.tabs import BrowserTabs
from sandbox_server.features.browser.tools.acting import ActingTools
from sandbox_server.features.browser.tools.listing import Outline
from sandbox_server.features.browser.tools.reading import ReadingTools
from sandbox_server.features.control.private_mode import SecretFocus
from sandbox_server.features.control.revocation_hooks import A_PROGRAM


@dataclass(frozen=True, slots=True)
class BrowserParts:
    """The parts that follow the browser, and its operations."""

    downloads: Downloads
    browser_hints: Guard
    devtools: Devtools
    part: ProductPart


def build_browser(
    machine: MachineParts, control: ControlParts, screen: DesktopAndInput, activity: Activity, approvals: ApprovalParts
) -> BrowserParts:
    """Make them. Recordings are counted in `activity`."""
    settings, files, owner, desktop = machine.settings, machine.files, machine.owner, screen.desktop
    hidden = private_mode(control)
    devtools = Devtools(owner.socket, KeptRules(f"{settings.paths.run}/browser-rules.json"), hidden, approvals.browser.follows_downloads)
    gate = RequestGateClient(owner.socket, approvals.browser)
    for changed in (devtools.connect_if_wanted, gate.changed):
        approvals.store.follow(changed)
    recordings = PageRecordings(owner, files, hidden)
    downloads = Downloads(devtools, files, settings.paths.downloads, settings.downloads, approvals.browser.admit_download)
    session = BrowserSession(owner, lambda: not control.keeper.holding.admits(A_PROGRAM, "cdp"))
    uploads, elements = PageUploads(files, settings.paths.spool), ElementIndex()
    activity.follow_recordings(lambda: recordings.recording)
    features: tuple[Feature, ...] = (
        BrowserScreen(desktop, screen.turns, Devices(owner).emulate if machine.has_browser else None),
        ComputerUse(desktop, screen.turns, partial(url_in_front, session), partial(navigate_in_front, Navigation(session))),
        *((BrowserRunning(owner, desktop, session.drop),) * machine.has_browser),
        ScreenElements(desktop, screen.turns, PageOnScreen(session, elements)),
        recordings,
        *network_features(devtools, downloads, files),
        *page_features(session, elements, uploads, machine.processes),
        Waiting(session, devtools, downloads, files),
    )
    watched = machine.has_browser and settings.control.private_focus
    watching: Opened = (SecretFocus(control.keeper, partial(follow_focus, owner.socket)),) if watched else ()
    return BrowserParts(
        downloads,
        hints_for_each_caller(session),
        devtools,
        ProductPart(features, (*watching, *((gate,) * machine.has_browser), devtools, downloads, recordings, uploads, session)),
    )


async def url_in_front(session: BrowserSession) -> str:
    """The address of the page in front. Raises Failure."""
    return next((tab.url for tab in await session.tabs() if tab.active), "")


async def navigate_in_front(navigation: Navigation, url: str) -> None:
    """Load a URL in the page in front, until its document is there. Raises Failure."""
    await navigation.navigate(NavigateRequest(url=url, wait_until="domcontentloaded"))


def network_features(devtools: Devtools, downloads: Downloads, files: Files) -> tuple[Feature, ...]:
    """Return the features for requests, console messages, cookies, state and downloads."""
    return (
        Network(devtools, files, __version__),
        ConsoleLog(devtools, files),
        Cookies(devtools),
        BrowserState(devtools, Storage(devtools), files),
        DownloadList(devtools, downloads),
    )


def page_features(session: BrowserSession, elements: ElementIndex, uploads: PageUploads, processes: Processes) -> tuple[Feature, ...]:
    """Return the features for pages and tabs."""
    navigation, tabs = Navigation(session), BrowserTabs(session)
    page_input, forms = PageInput(session, elements), Forms(session, elements, uploads)
    reading, outline = Reading(session, elements, Readable(processes)), Outline(session, elements)
    return (
        navigation,
        page_input,
        forms,
        reading,
        PageElements(session, elements),
        tabs,
        Captchas(session),
        ActingTools(session, outline, navigation, page_input, forms, tabs),
        ReadingTools(session, outline, reading),
    )
