"""The page of who drives in a real browser: a person sees the desktop, acts on it, gives it back, and does what the agent asks."""

import base64
import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from tests.image.chromium import chromium
from tests.image.container import Sandbox
from tests.image.test_control import return_control
from tests.image.test_vnc import pointer
from tests.patience import PATIENCE_SECONDS, until

FIELD = """<title>-</title><textarea style='position:fixed;inset:0;background:rgb(34,102,170)' onfocus='document.title="ready"'
 oninput='document.title=value'></textarea>"""


RICH = """<title>-</title><div contenteditable style='position:fixed;inset:0;background:rgb(34,102,170)'
 onfocus='document.title="ready"' oninput='document.title=innerHTML'>"""
TOUCHED = """<title>-</title><body style='margin:0;height:9000px;background:rgb(34,102,170)' onclick='document.title%2B=" click"'
 oncontextmenu='event.preventDefault();document.title%2B=" menu"' onscroll='document.title%2B=" scrolled"'>"""
TYPES = "async () => (await navigator.clipboard.read()).flatMap(({ types }) => types)"
FOCUS = """() => [document.activeElement, document.querySelector("tandem-view")?.shadowRoot?.activeElement]
  .map((at) => at?.outerHTML.slice(0, 120))"""
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PRESSED = """from Xlib.display import Display
display = Display("unix/:99")
print("button" if display.screen().root.query_pointer().mask & 0x1F00 else "", "key" if any(display.query_keymap()) else "")"""


class Fingers:
    """What fingers do on the picture, at places that are shares of its width and height."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        box = page.locator("tandem-view canvas").bounding_box()
        assert box
        self._box = box

    def down(self, *places: float) -> None:
        self._send("touchStart", *places)

    def up(self) -> None:
        self._send("touchEnd")

    def tap(self, x: float, y: float) -> None:
        self.down(x, y)
        self.up()

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        self.down(x, y)
        for step in range(1, 11):
            self._send("touchMove", x + (to_x - x) * step / 10, y + (to_y - y) * step / 10)
        self.up()

    def scroll(self, y: float, to_y: float) -> None:
        """Two fingers, side by side."""
        self.down(0.4, y)
        self.down(0.4, y, 0.6, y)
        for step in range(1, 21):
            at = y + (to_y - y) * step / 20
            self._send("touchMove", 0.4, at, 0.6, at)
        self.up()

    def _send(self, kind: str, *places: float) -> None:
        box = self._box
        points = [
            {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"], "id": number}
            for number, (x, y) in enumerate(zip(places[::2], places[1::2], strict=True))
        ]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.fixture(autouse=True)
def given_back(sandbox: Sandbox) -> Iterator[None]:
    """Give control back to the agent after a test that failed while a person held it."""
    yield
    return_control(sandbox)


@pytest.fixture(scope="module")
def browser(sandbox: Sandbox) -> Iterator[Browser]:
    with browser_for(sandbox) as launched:
        yield launched


@contextmanager
def browser_for(sandbox: Sandbox) -> Iterator[Browser]:
    """A browser of the person's own, to which the sandbox is as good as encrypted."""
    with chromium(f"--unsafely-treat-insecure-origin-as-secure={sandbox.base_url}") as launched:
        yield launched


@contextmanager
def opened(browser: Browser, sandbox: Sandbox, query: str = "", language: str = "en", **context: Any) -> Iterator[Page]:
    """The page of somebody who signed in, who lets go at the end; an error of its scripts fails the test."""
    with browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | context)) as made:
        page = made.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{sandbox.base_url}/view?lang={language}&api_key={sandbox.api_key}{query}")
        page.locator("main[data-picture=connected]").wait_for()
        try:
            yield page
        finally:
            if not page.is_closed() and page.locator("#driver").inner_text() == "You drive":
                give_back(page)
    assert wrong == []


def give_back(page: Page) -> None:
    page.get_by_role("button", name="Hand back to agent").click()
    expect(page.locator("#driver")).to_have_text("The agent drives")


def go(sandbox: Sandbox, content: str) -> None:
    assert sandbox.request("POST", "/v1/browser/page/navigate", json={"url": f"data:text/html,{content}"}).status_code == 200


def titles(sandbox: Sandbox) -> list[str]:
    return [tab["title"] for tab in sandbox.request("GET", "/v1/browser/tabs").json()["data"]]


def pressed(sandbox: Sandbox) -> set[str]:
    """What is held down on the desktop."""
    told = sandbox.exec("env", "XAUTHORITY=/run/sandbox-desktop/authority", "/opt/venv/bin/python", "-c", PRESSED, user="control")
    return set(told.stdout.split())


def input_state(page: Page, sandbox: Sandbox) -> str:
    """Where input may have stopped on its way from the page to the desktop."""
    focus = page.evaluate(FOCUS)
    shown = page.locator("main").get_attribute("data-picture")
    control = sandbox.request("GET", "/v1/control").json()["data"]
    held, log = pressed(sandbox), sandbox.logs()[-4000:]
    return f"picture {shown}; focus {focus}; pressed {held}; titles {titles(sandbox)}; control {control}; log {log}"


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
        until(lambda: colour(picture) == (34, 102, 170))
        expect(page.locator("#driver")).to_have_text("The agent drives")
        picture.click()
        expect(page.locator("#driver")).to_have_text("You drive")
        until(lambda: "ready" in titles(sandbox), told=lambda: input_state(page, sandbox))
        page.keyboard.type("Typed by hand, 3 < 4")
        until(lambda: "Typed by hand, 3 < 4" in titles(sandbox), told=lambda: input_state(page, sandbox))
        page.keyboard.insert_text("日本語 ü")
        until(lambda: "Typed by hand, 3 < 4日本語 ü" in titles(sandbox))
        give_back(page)
        assert sandbox.request("GET", "/v1/control").json()["data"]["state"] == "agent"


def test_what_is_copied_is_carried_both_ways_with_its_form(browser: Browser, sandbox: Sandbox) -> None:
    go(sandbox, RICH)
    with opened(browser, sandbox, permissions=["clipboard-read", "clipboard-write"]) as page:
        picture = page.locator("tandem-view canvas")
        until(lambda: colour(picture) == (34, 102, 170))
        picture.click()
        expect(page.locator("#driver")).to_have_text("You drive")
        until(lambda: "ready" in titles(sandbox), told=lambda: input_state(page, sandbox))
        page.evaluate(
            """() => navigator.clipboard.write([new ClipboardItem({
                "text/plain": new Blob(["bold ü"], { type: "text/plain" }), "text/html": new Blob(["<b>bold ü</b>"], { type: "text/html" })
            })])"""
        )
        page.keyboard.press("Control+v")
        until(lambda: "<b>bold ü</b>" in titles(sandbox))
        page.evaluate("navigator.clipboard.writeText('-')")
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+c")
        until(lambda: "text/html" in page.evaluate(TYPES))


def test_a_file_that_is_dropped_is_among_the_downloads(browser: Browser, sandbox: Sandbox) -> None:
    with opened(browser, sandbox) as page:
        for _ in range(2):
            page.evaluate(
                """() => {
                    const dataTransfer = new DataTransfer();
                    dataTransfer.items.add(new File(["from afar"], "dropped.txt"));
                    const dropped = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
                    document.querySelector("main").dispatchEvent(dropped);
                }"""
            )
        notes = page.locator("#drops .notice")
        expect(notes.first).to_have_text("Uploaded to /home/gem/Downloads/dropped.txt")
        expect(notes.last).to_have_text("Uploaded to /home/gem/Downloads/dropped (1).txt")
    assert sandbox.run("cat", "/home/gem/Downloads/dropped (1).txt").stdout == "from afar"


def test_fingers_click_open_menus_and_scroll_and_as_on_a_trackpad_move_the_pointer(browser: Browser, sandbox: Sandbox) -> None:
    go(sandbox, TOUCHED)
    with opened(browser, sandbox, **PHONE) as page:
        picture = page.locator("tandem-view canvas")
        until(lambda: colour(picture) == (34, 102, 170))
        fingers = Fingers(page)
        fingers.tap(0.5, 0.5)
        expect(page.locator("#driver")).to_have_text("You drive")
        expect(page.locator("#trackpad")).to_have_attribute("aria-pressed", "true")
        fingers.drag(0.5, 0.5, 0.6, 0.5)
        start = pointer(sandbox)
        fingers.drag(0.5, 0.5, 0.6, 0.5)
        until(lambda: pointer(sandbox)[0] > start[0])
        page.locator("#trackpad").click()
        fingers.tap(0.25, 0.5)
        until(lambda: any("click" in title for title in titles(sandbox)))
        until(lambda: abs(pointer(sandbox)[0] - 320) < 8)
        fingers.down(0.3, 0.6)
        until(lambda: any("menu" in title for title in titles(sandbox)))
        fingers.up()
        fingers.scroll(0.5, 0.3)
        until(lambda: any("scrolled" in title for title in titles(sandbox)))


def test_nothing_stays_pressed_after_a_viewer_has_vanished(browser: Browser, sandbox: Sandbox) -> None:
    with opened(browser, sandbox) as page:
        page.locator("tandem-view canvas").hover()
        page.mouse.down()
        page.keyboard.down("Shift")
        until(lambda: pressed(sandbox) == {"button", "key"}, told=lambda: input_state(page, sandbox))
        again = page.context.new_page()
        page.close()
        until(lambda: pressed(sandbox) == set())
        again.goto(f"{sandbox.base_url}/view?lang=en")
        expect(again.locator("#driver")).to_have_text(re.compile("^(You drive|The agent drives)$"))  # it returns to the agent by itself
        if again.locator("#driver").inner_text() == "You drive":
            give_back(again)


def test_the_desktops_sound_is_heard_by_who_asks_for_it(browser: Browser, sandbox: Sandbox) -> None:
    player = ["sh", "-c", "pacat --raw --rate=48000 --channels=2 --format=u8 </dev/urandom & echo $!"]
    pid = sandbox.exec("env", "PULSE_SERVER=unix:/run/sandbox-desktop/pulse/native", *player, user="desktop").stdout.strip()
    try:
        with opened(browser, sandbox) as page:
            view = page.locator("tandem-view")
            assert view.evaluate("view => view.heard") == 0
            page.get_by_role("button", name="Sound").click()
            until(lambda: view.evaluate("view => view.heard") > 50)
    finally:
        sandbox.exec("kill", pid)


def test_whoever_clicks_and_gives_back_in_haste_is_shown_who_drives(browser: Browser, sandbox: Sandbox) -> None:
    with opened(browser, sandbox) as page:
        box = page.locator("tandem-view canvas").bounding_box()
        assert box
        for _ in range(5):
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
        expect(page).to_have_title(re.compile(r"^\(1\) "))
        card.get_by_role("button", name="Take this on").click()
        expect(page.locator("#driver")).to_have_text("You drive")
        card.get_by_label("Message to the agent (optional)").fill("It is signed in.")
        card.get_by_role("button", name="Done", exact=True).click()
        expect(card).to_have_count(0)
        expect(page.locator("#driver")).to_have_text("The agent drives")
    waiting.join(PATIENCE_SECONDS)
    assert (answers[0]["status"], answers[0]["outcome"], answers[0]["note"]) == ("closed", "done", "It is signed in.")


def test_somebody_who_was_let_in_by_a_link_is_disconnected_at_once(browser: Browser, sandbox: Sandbox) -> None:
    with opened(browser, sandbox) as page, browser.new_context() as elsewhere:
        page.locator("#bar-invite-open").click()
        page.get_by_role("button", name="Make a link").click()
        expect(page.locator("#bar-link")).to_have_value(re.compile("ticket=tk-"))
        guest = elsewhere.new_page()
        guest.goto(page.locator("#bar-link").input_value())
        page.get_by_role("button", name="Close").click()
        guest.get_by_label("Your name").fill("Mia")
        guest.get_by_role("button", name="Join").click()
        guest.locator("main[data-picture=connected]").wait_for()
        page.locator("#viewers").click()
        watching = page.locator("#bar-viewers li", has_text="Mia")
        expect(watching).to_contain_text("Can watch")
        watching.get_by_role("button", name=re.compile("Disconnect")).click()
        expect(guest.locator("#driver")).to_have_text("You are signed out. Sign in, or open a new link.")
        expect(guest.locator("main")).not_to_have_attribute("data-picture", "connected")
        expect(watching).to_have_count(0)
        assert guest.goto(f"{sandbox.base_url}/v1/control").status == 401  # type: ignore[union-attr] # it is no address of the same page


STILL = "<title>-</title><h1>Still</h1><div style='height:900px;background:linear-gradient(45deg,red,gold,teal)'></div>"
SIZED = "view => [view.size.width, view.size.height]"
COPIED = """({ canvas }) => {
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    copy.getContext("2d").drawImage(canvas, 0, 0);
    return copy.toDataURL().split(",")[1];
}"""


def resize(sandbox: Sandbox, width: int, height: int) -> None:
    wanted = {"resolution": {"width": width, "height": height}}
    assert sandbox.request("POST", "/v1/browser/config", json=wanted).status_code == 200


def is_exact(page: Page, sandbox: Sandbox) -> bool:
    """Whether what is seen is the screen, bit for bit."""
    screen = sandbox.request("GET", "/v1/browser/screenshot?cursor=false&format=png").content
    seen = base64.b64decode(page.locator("tandem-view").evaluate(COPIED))
    one, other = (Image.open(io.BytesIO(png)).convert("RGB") for png in (screen, seen))
    return one.size == other.size and one.tobytes() == other.tobytes()


@pytest.mark.slow
def test_a_desktop_of_3840x2160_is_exact_to_viewers_of_two_sizes_and_so_is_what_it_becomes(browser: Browser, sandbox: Sandbox) -> None:
    go(sandbox, STILL)
    with opened(browser, sandbox) as large, opened(browser, sandbox, viewport={"width": 800, "height": 600}) as small:
        try:
            resize(sandbox, 3840, 2160)
            for page in (large, small):
                until(lambda page=page: page.locator("tandem-view").evaluate(SIZED) == [3840, 2160])  # type: ignore[misc] # one for each
                until(lambda page=page: is_exact(page, sandbox))  # type: ignore[misc]
        finally:
            resize(sandbox, 1280, 1024)
        for page in (large, small):
            until(lambda page=page: page.locator("tandem-view").evaluate(SIZED) == [1280, 1024])  # type: ignore[misc]
            until(lambda page=page: is_exact(page, sandbox))  # type: ignore[misc]


FRAMED = """() => new Promise((done) => {
    const frame = Object.assign(document.createElement("iframe"), { src: "/stream/" });
    addEventListener("message", ({ origin, source, data: { tandem, state, frames } }) => {
        if (origin !== location.origin || source !== frame.contentWindow) return;
        if (state === "connected") source.postMessage({ tandem: "set", name: "statistics", on: true }, origin);
        const shown = !frame.contentDocument.querySelector("tandem-view").shadowRoot.querySelector("pre").hidden;
        if (tandem === "statistics" && shown) done(Number.isInteger(frames));
    });
    document.body.append(frame);
})"""


def test_a_page_that_frames_the_desktop_is_told_what_happens_and_says_how_it_is_shown(browser: Browser, sandbox: Sandbox) -> None:
    with opened(browser, sandbox) as page:
        assert page.evaluate(FRAMED)


def test_without_the_stream_the_desktop_is_seen_through_vnc(browser: Browser, sandbox: Sandbox) -> None:
    go(sandbox, FIELD)
    with opened(browser, sandbox, "&picture=vnc") as page:
        until(lambda: colour(page.locator("#screen canvas")) == (34, 102, 170))
        page.route("**/stream/", lambda route: route.fulfill(status=404))
        page.goto(f"{sandbox.base_url}/view?lang=en")
        page.locator("main[data-picture=connected]").wait_for()
        expect(page.locator("tandem-view")).to_have_count(0)
