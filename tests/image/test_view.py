"""The page of who drives in a real browser: a person sees the desktop, acts on it, gives it back, and does what the agent asks."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.image.container import Sandbox, until

PATIENCE_MS = 30_000
FIELD = "<title>-</title><textarea style='position:fixed;inset:0;background:rgb(34,102,170)' oninput='document.title=value'></textarea>"


@pytest.fixture(scope="module")
def browser(sandbox: Sandbox) -> Iterator[Browser]:
    with browser_for(sandbox) as launched:
        yield launched


@contextmanager
def browser_for(sandbox: Sandbox) -> Iterator[Browser]:
    """A browser of the person's own, to which the sandbox is as good as encrypted."""
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", f"--unsafely-treat-insecure-origin-as-secure={sandbox.base_url}"]
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        yield launched
        launched.close()


@contextmanager
def opened(browser: Browser, sandbox: Sandbox, query: str = "", language: str = "en", **context: Any) -> Iterator[Page]:
    """The page of somebody who signed in, who lets go at the end; an error of its scripts fails the test."""
    with browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | context)) as made:
        page = made.new_page()
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{sandbox.base_url}/view?lang={language}&api_key={sandbox.api_key}{query}")
        page.locator("main[data-picture=connected]").wait_for()
        yield page
        if page.locator("#driver").inner_text() == "You drive":
            give_back(page)
    assert wrong == []


def give_back(page: Page) -> None:
    page.get_by_role("button", name="Give back").click()
    expect(page.locator("#driver")).to_have_text("The agent drives")


def go(sandbox: Sandbox, content: str) -> None:
    assert sandbox.request("POST", "/v1/browser/page/navigate", json={"url": f"data:text/html,{content}"}).status_code == 200


def titles(sandbox: Sandbox) -> list[str]:
    return [tab["title"] for tab in sandbox.request("GET", "/v1/browser/tabs").json()["data"]]


def colour(picture: Locator) -> tuple[int, ...]:
    """The colour of a place in the picture where no pointer is, as the person sees it."""
    seen = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    pixel = seen.getpixel((seen.width // 4, seen.height // 4))
    assert isinstance(pixel, tuple)
    return pixel


def test_a_person_sees_the_desktop_takes_it_by_a_click_types_and_gives_it_back(browser: Browser, sandbox: Sandbox) -> None:
    go(sandbox, FIELD)
    with opened(browser, sandbox) as page:
        picture = page.locator("tandem-view canvas")
        until(lambda: colour(picture) == (34, 102, 170), within=30)
        expect(page.locator("#driver")).to_have_text("The agent drives")
        picture.click()
        expect(page.locator("#driver")).to_have_text("You drive")
        page.keyboard.type("Typed by hand, 3 < 4")
        until(lambda: "Typed by hand, 3 < 4" in titles(sandbox), within=30)
        page.keyboard.insert_text("日本語 ü")
        until(lambda: "Typed by hand, 3 < 4日本語 ü" in titles(sandbox), within=30)
        give_back(page)
        assert sandbox.request("GET", "/v1/control").json()["data"]["state"] == "agent"


def test_whoever_clicks_and_gives_back_in_haste_is_shown_who_drives(browser: Browser, sandbox: Sandbox) -> None:
    with opened(browser, sandbox) as page:
        box = page.locator("tandem-view canvas").bounding_box()
        assert box
        for _ in range(10):
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            give_back(page)


def test_a_person_does_what_the_agent_asks(browser: Browser, sandbox: Sandbox) -> None:
    region = {"x": 10, "y": 20, "width": 300, "height": 200}
    asked = {"kind": "login", "reason": "Sign in to the mail", "instructions": "The password is on paper.", "region": region, "wait": 120}
    answers: list[dict[str, Any]] = []
    waiting = threading.Thread(
        target=lambda: answers.append(sandbox.request("POST", "/v1/handoffs", json=asked, timeout=120).json()["data"])
    )
    waiting.start()
    with opened(browser, sandbox) as page:
        card = page.locator("#handoffs .card")
        expect(card).to_contain_text("Sign in to the mail")
        expect(page.locator("#region")).to_be_visible()
        assert page.title().startswith("(1) ")
        card.get_by_role("button", name="I will do it").click()
        expect(page.locator("#driver")).to_have_text("You drive")
        card.get_by_label("A note for the agent").fill("It is signed in.")
        card.get_by_role("button", name="Done", exact=True).click()
        expect(card).to_have_count(0)
        expect(page.locator("#driver")).to_have_text("The agent drives")
    waiting.join(30)
    assert (answers[0]["status"], answers[0]["outcome"], answers[0]["note"]) == ("closed", "done", "It is signed in.")


def test_without_the_stream_the_desktop_is_seen_through_vnc(browser: Browser, sandbox: Sandbox) -> None:
    go(sandbox, FIELD)
    with opened(browser, sandbox, "&picture=vnc") as page:
        until(lambda: colour(page.locator("#screen canvas")) == (34, 102, 170), within=30)
    with browser.new_context() as context:
        page = context.new_page()
        page.route("**/stream/", lambda route: route.fulfill(status=404))
        page.goto(f"{sandbox.base_url}/view?api_key={sandbox.api_key}")
        page.locator("main[data-picture=connected]").wait_for(timeout=PATIENCE_MS)
        expect(page.locator("tandem-view")).to_have_count(0)
