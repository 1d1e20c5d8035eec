"""What a page weighs: all that it loads of ours, each file as gzip packs it. `pytest -s` prints the table."""

import gzip
import sys

import pytest
from playwright.sync_api import Browser, Response

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP, sign_in
from tests.pages.every_page import PAGES, show

KIB = 1024
LIMITS = {"home": 60, "view": 180}
"""In KiB."""
LIMIT = 220
"""Of every other page."""
LEVEL = 6
QUIET = """new Promise((quiet) => {
    const count = () => performance.getEntriesByType('resource').length;
    const look = (before) => (count() === before ? quiet() : setTimeout(look, 500, count()));
    look(-1);
})"""
OURS = ("document", "script", "stylesheet", "image", "other")


def weight(browser: Browser, sandbox: Sandbox, name: str) -> float:
    """The weight of a page in KiB, in a browser that has nothing of it yet."""
    with browser.new_context(**DESKTOP) as context:
        page = sign_in(context, sandbox)
        if not PAGES[name].signed_in:
            context.clear_cookies()
        loaded = dict[str, Response]()
        page.goto("about:blank")
        context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})

        def keep(answer: Response) -> None:
            if is_ours(answer):
                loaded.setdefault(answer.url.split("?")[0], answer)

        context.on("response", keep)
        show(page, sandbox, name)
        page.evaluate(QUIET)
        return sum(len(gzip.compress(answer.body(), LEVEL)) for answer in list(loaded.values())) / KIB


def is_ours(answer: Response) -> bool:
    """Whether a response is a file of the page, rather than what the page asks of the API."""
    if answer.request.resource_type == "document":
        return True
    return "/static/" in answer.url and answer.ok and answer.request.resource_type in OURS


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(browser: Browser, sandbox: Sandbox, name: str) -> None:
    found = weight(browser, sandbox, name)
    sys.stdout.write(f"{PAGES[name].path:45} {found:7.1f} KiB\n")
    assert 1 < found < LIMITS.get(name, LIMIT)
