"""Every page by its folder in `sandbox_server/web`, and how a test opens it. A page that is added has to be added here."""

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

import sandbox_server
from tests.image.container import Sandbox

WEB = Path(sandbox_server.__file__).parent / "web"


@dataclass(frozen=True)
class OnePage:
    """A page: where it is, and what is there once it shows what it has to."""

    path: str
    shown: str
    """A selector of what is there by then."""
    signed_in: bool = True


PAGES = {
    "home": OnePage("/", "#navigation a"),
    "view": OnePage("/view", "main[data-picture=connected]"),
    "terminal": OnePage("/terminal", "#tools .state:is(.good, .waiting)"),
    "files": OnePage("/files", "#path a"),
    "recorder": OnePage("/recorder", "#timeline"),
    "docs": OnePage("/v1/docs", "#operation *"),
    "stream": OnePage("/stream/", "body[data-state=connected]"),
    "vnc": OnePage("/vnc/index.html", "body[data-state=connected]"),
    "login": OnePage("/", "#sign-in", signed_in=False),
    "join": OnePage(f"/join#ticket=tk-{'x' * 43}", "#join:not([hidden])", signed_in=False),
    "error": OnePage("/no-such-page", "main h1"),
    "editor": OnePage("/static/editor/index.html?no-such-editor", "#state"),
}
"""By the folder. The editor's is that of one that does not run, since it goes on to the editor otherwise."""
FRAGMENTS = {"bar", "checkpoints", "network", "requests"}
"""Folders of what is on several pages."""


def folders() -> set[str]:
    """The folders of pages."""
    pages = {page.parent.name for page in WEB.glob("*/index.html")}
    return pages | {folder.parent.name for folder in WEB.glob("*/strings.js")} - FRAGMENTS


def show(page: Page, sandbox: Sandbox, name: str) -> None:
    """Open a page, and wait until it shows what it has to."""
    wanted = PAGES[name]
    page.goto("about:blank")  # an address that differs by its fragment alone would load nothing
    page.goto(sandbox.base_url + wanted.path)
    page.locator(wanted.shown).first.wait_for(state="attached")
    if wanted.signed_in and page.locator("tandem-bar").count():
        expect(page.locator("#navigation a").first).to_be_attached()
