"""The pages as a person sees them: real Chromium outside of the container, on a desktop and on a phone."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.image.chromium import chromium
from tests.image.container import Sandbox

DESKTOP: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
KEEP_MESSAGES = """() => {
    window.messages = [];
    new MutationObserver(() => {
        const told = document.querySelector("[data-id=message] p")?.textContent;
        if (told && told !== window.messages.at(-1)) window.messages.push(told);
    }).observe(document, { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser of the person's own, outside of the sandbox."""
    with chromium() as launched:
        yield launched


def sign_in(context: BrowserContext, sandbox: Sandbox) -> Page:
    """A page of a person who signed in by the key."""
    page = context.new_page()
    page.goto(f"{sandbox.base_url}/healthz?api_key={sandbox.api_key}")
    return page


def keep_messages(page: Page) -> None:
    """Keep what the page tells for a moment from now on: it may be gone before a test looks."""
    page.evaluate(KEEP_MESSAGES)


def messages(page: Page) -> list[str]:
    """What the page has told since `keep_messages`."""
    told: list[str] = page.evaluate("window.messages")
    return told


@pytest.fixture
def person(browser: Browser, sandbox: Sandbox) -> Iterator[Page]:
    """The page of a person who signed in on a desktop."""
    with browser.new_context(**DESKTOP) as context:
        yield sign_in(context, sandbox)


@pytest.fixture
def phone(browser: Browser, sandbox: Sandbox) -> Iterator[Page]:
    """The page of a person who signed in on a phone."""
    with browser.new_context(**PHONE) as context:
        yield sign_in(context, sandbox)
