"""Bad networks, as a person sees them: a connection that stalls, one that is lost, and a network that blocks WebSockets."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, FrameLocator, Page, expect

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP, keep_messages, messages
from tests.pages.relay import Relay, stalled
from tests.patience import until

FIELD = "data:text/html,<title>-</title><textarea style='position:fixed;inset:0' autofocus oninput='document.title=value'></textarea>"
SLOW, STALLED = "Connection is slow", "Reconnecting… your input is not sent"
BLOCKED = "This network blocks WebSockets. Watching by pictures instead."
HEADERS = "the headers Upgrade and Connection"
AT_ONCE_MS = 5000
"""Within it, a connection is back that had stalled."""
TOLD_MS = 10_000
"""Within it, a person is told that a connection stalls."""
KEEP_NOTICES = """() => {
    const notice = document.querySelector("tandem-view").shadowRoot.querySelector(".notice");
    const main = document.querySelector("main");
    window.notices = [];
    const watch = new MutationObserver(() => window.notices.push({
        said: notice.hidden ? "" : notice.textContent, state: main.dataset.picture ?? document.body.dataset.state, at: performance.now()
    }));
    for (const place of [notice, main, document.body]) watch.observe(place, { attributeFilter: ["hidden", "data-picture", "data-state"] });
    return performance.now();
}"""
"""Keeps what is told of the connection, and when: some of it is shown for seconds, in which a busy machine may not look."""


@pytest.fixture
def relay(sandbox: Sandbox) -> Iterator[Relay]:
    with Relay(sandbox.base_url) as running:
        yield running


@pytest.fixture
def context(browser: Browser, sandbox: Sandbox, relay: Relay) -> Iterator[BrowserContext]:
    """A person's browser behind the relay, signed in."""
    with browser.new_context(**DESKTOP, locale="en-US") as made:
        page = made.new_page()
        page.goto(f"{relay.base_url}/v1/docs?api_key={sandbox.api_key}")
        yield made


def open_page(context: BrowserContext, relay: Relay, path: str) -> Page:
    page = context.pages[0]
    page.goto(relay.base_url + path)
    return page


def wait_connected(place: Page | FrameLocator, path: str) -> None:
    place.locator("body[data-state=connected]" if path == "/stream/" else "main[data-picture=connected]").wait_for()


def until_typed(sandbox: Sandbox, text: str) -> None:
    """Wait until exactly this is in the field on the desktop, whose page has it for a title."""

    def tabs() -> str:
        return sandbox.request("GET", "/v1/browser/tabs").text

    until(lambda: f'"{text}"' in tabs(), told=tabs)


def act(page: Page, sandbox: Sandbox, place: Page | FrameLocator) -> None:
    """Take control by a click on the screen, and type."""
    place.locator("tandem-view").click(position={"x": 300, "y": 300})
    expect(place.locator("#driver")).to_have_text("You drive")
    page.keyboard.type("seen")
    until_typed(sandbox, "seen")


def when(page: Page, since: float, **wanted: str) -> float:
    """Wait until the page tells this of its connection, after a time of its own clock; the time, in milliseconds."""
    found: list[float] = []

    def is_told() -> bool:
        notices = page.evaluate("window.notices")
        found.extend(each["at"] for each in notices if each["at"] >= since and wanted.items() <= each.items())
        return bool(found)

    until(is_told, told=lambda: str(page.evaluate("window.notices")))
    return found[0]


@pytest.mark.parametrize("path", ["/view", "/stream/"])
def test_a_stalled_connection_is_told_and_what_is_typed_meanwhile_is_never_sent(
    context: BrowserContext, relay: Relay, sandbox: Sandbox, path: str
) -> None:
    sandbox.show(FIELD)
    page = open_page(context, relay, path)
    wait_connected(page, path)
    try:
        act(page, sandbox, page)
        page.bring_to_front()
        began = page.evaluate(KEEP_NOTICES)
        with stalled(relay):
            slow = when(page, began, said=SLOW)
            assert when(page, slow, said=STALLED) - began < TOLD_MS
            expect(page.locator("tandem-view .screen")).to_have_class("screen tab-stop stale")
            page.keyboard.type("lost")
            page.locator("tandem-view").click(position={"x": 300, "y": 300})
            goes_on = page.evaluate("performance.now()")
        assert when(page, goes_on, said="", state="connected") - goes_on < AT_ONCE_MS
        page.keyboard.type("kept")
        until_typed(sandbox, "seenkept")
    finally:
        release(page)


def release(page: Page) -> None:
    """Hand control back, whatever came of the test."""
    page.evaluate("fetch('/v1/control/release', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})")


def test_a_connection_that_never_comes_back_is_replaced_by_a_new_one(context: BrowserContext, relay: Relay) -> None:
    page = open_page(context, relay, "/view")
    wait_connected(page, "/view")
    began = page.evaluate(KEEP_NOTICES)
    relay.lose()
    slow = when(page, began, said=SLOW)
    back = when(page, slow, said="", state="connected")
    assert back - slow < AT_ONCE_MS + 3000
    relay.lose()
    slow = when(page, back, said=SLOW)  # it was watched, so it was alive
    when(page, slow, said="", state="connected")


def test_home_tells_of_a_stalled_connection_where_it_shows_the_screen(context: BrowserContext, relay: Relay) -> None:
    page = open_page(context, relay, "/")
    page.get_by_role("button", name="Show here").first.click()
    frame = page.frame_locator("iframe")
    wait_connected(frame, "/view")
    with stalled(relay):
        expect(frame.locator("tandem-view .notice")).to_have_text(STALLED)
    wait_connected(frame, "/view")


def test_a_connection_that_was_there_is_lost_and_comes_back(context: BrowserContext, relay: Relay) -> None:
    page = open_page(context, relay, "/view")
    wait_connected(page, "/view")
    relay.refuses = True
    relay.cut()
    expect(page.locator("#picture")).to_have_text("Connection lost. Reconnecting…")
    relay.refuses = False
    wait_connected(page, "/view")


@pytest.mark.parametrize("path", ["/view", "/stream/"])
def test_where_websockets_are_blocked_a_person_watches_by_pictures_and_is_told_why(
    context: BrowserContext, relay: Relay, sandbox: Sandbox, path: str
) -> None:
    relay.strips_upgrades = True
    page = open_page(context, relay, path)
    said = page.locator("tandem-view .notice")
    expect(said).to_contain_text(BLOCKED)
    expect(said).to_contain_text(HEADERS)
    until(lambda: page.evaluate("document.querySelector('tandem-view').shadowRoot.querySelector('.still').naturalWidth") > 0)
    expect(page.locator("tandem-view .still")).to_be_visible()
    assert page.locator("tandem-view .still").bounding_box() == page.locator("tandem-view .screen").bounding_box()
    expect(page.get_by_text("Connection lost")).to_have_count(0)
    relay.strips_upgrades = False
    wait_connected(page, path)
    expect(said).to_be_hidden()
    expect(page.locator("tandem-view .still")).to_be_hidden()


def test_a_click_where_nothing_can_be_sent_says_so(context: BrowserContext, relay: Relay) -> None:
    relay.strips_upgrades = True
    page = open_page(context, relay, "/view")
    page.locator("main[data-picture=blocked]").wait_for()
    keep_messages(page)
    page.locator("tandem-view").click()
    until(lambda: "Your mouse and keyboard cannot be sent: this network blocks WebSockets." in messages(page))


def test_a_guest_who_may_only_watch_gets_the_pictures_too(browser: Browser, relay: Relay, sandbox: Sandbox) -> None:
    relay.strips_upgrades = True
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": ["view"]}).json()["ticket"]
    with browser.new_context(**DESKTOP, locale="en-US") as context:
        page = context.new_page()
        page.goto(f"{relay.base_url}/view?ticket={ticket}")
        expect(page.locator("tandem-view .notice")).to_contain_text(BLOCKED)
        until(lambda: page.evaluate("document.querySelector('tandem-view').shadowRoot.querySelector('.still').naturalWidth") > 0)


def test_the_terminal_and_vnc_say_that_websockets_are_blocked(context: BrowserContext, relay: Relay) -> None:
    relay.strips_upgrades = True
    page = open_page(context, relay, "/terminal")
    expect(page.locator("#connection")).to_have_text("WebSockets are blocked")
    expect(page.get_by_role("alert").filter(has_text=HEADERS)).to_be_visible()
    page = open_page(context, relay, "/vnc/index.html")
    expect(page.locator("#notice h2")).to_have_text("WebSockets are blocked")
    expect(page.locator("#notice p")).to_contain_text(HEADERS)
    relay.strips_upgrades = False
    page.locator("body[data-state=connected]").wait_for()
