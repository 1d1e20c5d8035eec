"""The bar of every page in a real browser: who drives, what the agent asks, the languages, the themes, and what a guest sees."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.image.container import Sandbox

PAGES = {
    "/": "Home",
    "/view": "Live",
    "/terminal": "Terminal",
    "/files": "Files",
    "/recorder": "Recorder",
    "/v1/docs": "API",
    "/stream/": "",
    "/vnc/index.html": "",
}
REQUEST = {"kind": "confirm", "reason": "Place the order for 12.90?"}
SCROLL_WIDTH = "document.documentElement.scrollWidth"
OVERLAID = """Array.from(document.querySelectorAll('main, footer')).some((part) =>
    part.getBoundingClientRect().top < document.querySelector('tandem-bar').getBoundingClientRect().bottom - 1)"""


@contextmanager
def signed_in(browser: Browser, sandbox: Sandbox, **context: Any) -> Iterator[BrowserContext]:
    """A browser whose person signed in, to a sandbox that an agent has called."""
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    with browser.new_context(**context) as made:
        made.new_page().goto(f"{sandbox.base_url}/v1/docs?api_key={sandbox.api_key}")
        yield made


@contextmanager
def asked(sandbox: Sandbox, **more: Any) -> Iterator[None]:
    """An open request of the agent's."""
    made = sandbox.request("POST", "/v1/handoffs", json=REQUEST | more).json()["data"]
    try:
        yield
    finally:
        sandbox.request("DELETE", f"/v1/handoffs/{made['id']}")


def open_page(context: BrowserContext, sandbox: Sandbox, path: str) -> Page:
    page = context.pages[0]
    page.goto(sandbox.base_url + path)
    return page


@pytest.mark.parametrize("path", PAGES)
def test_every_page_says_who_drives_and_leads_to_the_others(browser: Browser, sandbox: Sandbox, path: str) -> None:
    with signed_in(browser, sandbox, viewport={"width": 1440, "height": 900}) as context:
        page = open_page(context, sandbox, path)
        expect(page.locator("#driver")).to_have_text("The agent drives")
        expect(page.locator("#navigation a")).to_have_text(["Home", "Live", "Terminal", "Files", "Recorder", "API"])
        if PAGES[path]:
            expect(page.locator("#navigation [aria-current=page]")).to_have_text(PAGES[path])
        page.get_by_role("button", name="Take control").click()
        expect(page.locator("#driver")).to_have_text("You drive")
        height = page.evaluate("document.querySelector('tandem-bar').offsetHeight")
        page.get_by_role("button", name="Hand back to agent").click()
        expect(page.locator("#driver")).to_have_text("The agent drives")
        assert page.evaluate("document.querySelector('tandem-bar').offsetHeight") == height, "nothing moves when the driver changes"
        assert page.evaluate(OVERLAID) is False


@pytest.mark.parametrize("path", PAGES)
def test_a_request_is_told_on_every_page_and_in_its_title(browser: Browser, sandbox: Sandbox, path: str) -> None:
    with signed_in(browser, sandbox, viewport={"width": 1440, "height": 900}) as context, asked(sandbox):
        page = open_page(context, sandbox, path)
        expect(page.get_by_text("Place the order for 12.90?").filter(visible=True).first).to_be_visible()
        expect(page).to_have_title(re.compile(r"^\(1\) "))
        expect(page.get_by_role("button", name="Yes, go ahead").filter(visible=True)).to_have_count(1)


@pytest.mark.parametrize("width", [390, 360])
@pytest.mark.parametrize("path", PAGES)
def test_a_phone_shows_every_page_without_scrolling_sideways(browser: Browser, sandbox: Sandbox, path: str, width: int) -> None:
    phone = {"viewport": {"width": width, "height": 800}, "has_touch": True, "is_mobile": True}
    with signed_in(browser, sandbox, **phone) as context, asked(sandbox):
        page = open_page(context, sandbox, path)
        expect(page.locator("#driver")).to_have_text("The agent drives")
        page.locator("#bar-menu").click()
        expect(page.get_by_role("link", name="Live", exact=True)).to_be_visible()
        assert page.evaluate(SCROLL_WIDTH) == width


def test_the_language_and_the_theme_are_chosen_once_for_all_pages(browser: Browser, sandbox: Sandbox) -> None:
    with signed_in(browser, sandbox, viewport={"width": 1440, "height": 900}, locale="en-US", color_scheme="light") as context:
        page = open_page(context, sandbox, "/")
        page.get_by_role("button", name="中文").click()
        expect(page.locator("h1")).to_have_text("这个沙箱")
        page.locator("[data-chooses=theme]").click()
        page.locator("[data-chooses=theme]").click()
        for path in PAGES:
            open_page(context, sandbox, path)
            expect(page.locator("#driver")).to_have_text("智能体正在操作")
            assert page.evaluate("document.documentElement.dataset.theme") == "dark"
            assert page.evaluate("getComputedStyle(document.querySelector('tandem-bar')).backgroundColor") == "rgb(28, 32, 36)"


def test_six_pages_and_more_share_one_connection(browser: Browser, sandbox: Sandbox) -> None:
    with signed_in(browser, sandbox) as context:
        for _ in range(8):
            page = context.new_page()
            page.goto(f"{sandbox.base_url}/v1/docs")
            expect(page.locator("#driver")).to_have_text("The agent drives")
        page.locator("#viewers").click()
        expect(page.locator("#bar-viewers li")).to_have_count(1)


def test_a_guest_sees_the_pages_that_are_theirs_and_a_refusal_leads_home(browser: Browser, sandbox: Sandbox) -> None:
    body = {"actor": "person", "scopes": ["view"]}
    ticket = sandbox.request("POST", "/tickets", json=body).json()["ticket"]
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page, refused = context.new_page(), list[str]()
        page.on("response", lambda answer: refused.append(answer.url) if answer.status in (401, 403) else None)
        page.goto(f"{sandbox.base_url}/view?ticket={ticket}")
        expect(page.locator("#navigation a")).to_have_text(["Home", "Live", "API"])
        expect(page.get_by_text("View only")).to_be_visible()
        expect(page.get_by_role("button", name="Take control")).to_have_count(0)
        expect(page.get_by_role("button", name="Invite")).to_have_count(0)
        page.locator("main[data-picture=connected]").wait_for()
        assert refused == []
        answer = page.goto(f"{sandbox.base_url}/terminal")
        assert answer is not None
        assert answer.status == 403
        expect(page.locator("main")).to_contain_text("Ask whoever invited you for terminal access.")
        page.get_by_role("link", name="Home").click()
        expect(page.locator("#driver")).to_have_text("The agent drives")


def test_a_link_that_was_used_says_so(browser: Browser, sandbox: Sandbox) -> None:
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": ["view"]}).json()["ticket"]
    for says in ("", "This link was already used, or has expired. Ask for a new one."):
        with browser.new_context(locale="en-US") as context:
            page = context.new_page()
            page.goto(f"{sandbox.base_url}/view?ticket={ticket}")
            expect(page.get_by_role("alert").filter(has_text=says)).to_be_visible() if says else page.locator("#driver").wait_for()


def test_an_address_where_nothing_is_gets_a_page_in_the_persons_language(browser: Browser, sandbox: Sandbox) -> None:
    with signed_in(browser, sandbox, locale="zh-CN") as context:
        page = open_page(context, sandbox, "/no-such-page")
        expect(page.locator("h1")).to_have_text("页面不存在")
        expect(page.get_by_role("link", name="首页")).to_be_visible()
