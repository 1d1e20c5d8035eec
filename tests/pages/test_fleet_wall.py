"""The fleet's page with fifty small sandboxes, as a person sees it in a real Chromium."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect
from tandem_fleet.sandboxes import Desired

from tests.fleet.stub_fleet import StubFleet, stub_fleet
from tests.fleet.stub_sandbox import StubSandbox, control, handoff
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
FIFTY = 50
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
APPROVAL = {"subject": "shell", "details": {"command": "git push origin main"}, "answers": ["once", "task", "always", "deny"]}
HOSTILE = "<img src=x onerror=alert(1)>\u202e &amp;"
MILLISECONDS = 30_000
UNNAMED = (
    "[...document.querySelectorAll('button, input, select')].filter((one) => !(one.ariaLabel || one.innerText || one.closest('label')))"
)
LOW_CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const linear = (one) => (one <= 10 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (element) => {
    const found = rgba(getComputedStyle(element).backgroundColor);
    return found[3] > 200 || !element.parentElement ? found : ground(element.parentElement);
  };
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const ratio = (one) => {
    const both = [light(rgba(getComputedStyle(one).color)), light(ground(one))].sort((less, more) => more - less);
    return (both[0] + 0.05) / (both[1] + 0.05);
  };
  const texts = [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && hasText(one));
  return texts.filter((one) => ratio(one) < 4.5).map((one) => `${one.className || one.id || one.tagName} ${ratio(one).toFixed(1)}`);
}"""
"""Texts with less contrast than WCAG 2.2 asks of small ones (1.4.3)."""


def screen(number: int, version: int = 0) -> bytes:
    """A desktop of 320 by 256 pixels."""
    image = Image.new("RGB", (320, 256), (30 + number * 4 % 120, 60 + number * 7 % 120, 90 + number * 3 % 100))
    draw = ImageDraw.Draw(image)
    draw.rectangle((20, 20, 250, 200), fill=(245, 245, 245))
    draw.rectangle((20, 20, 250, 36), fill=(60, 60, 70))
    for line in range(8):
        draw.rectangle((32, 50 + line * 16, 60 + (number * 37 + line * 53 + version * 11) % 170, 56 + line * 16), fill=(120, 130, 140))
    written = io.BytesIO()
    image.save(written, "JPEG", quality=60)
    return written.getvalue()


def stubs(count: int) -> dict[str, StubSandbox]:
    """Some that work, of which the fifth, the tenth and so on ask for something."""
    made = {f"agent-{number:02d}": StubSandbox(picture=screen(number)) for number in range(1, count + 1)}
    asked: list[dict[str, Any]] = [
        {"kind": "approve", "reason": "The agent wants to run git push", "approval": APPROVAL},
        {"kind": "login", "reason": "Sign in at shop.example"},
        {"kind": "confirm", "reason": "Place the order for 12.90?"},
        {"kind": "choice", "reason": "Which invoice?", "choices": ["March", "April"]},
    ]
    for at, stub in enumerate(list(made.values())[4::5]):
        stub.handoffs = [handoff(f"h-{at}", **asked[at % len(asked)])]
    return made


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """The person's browser."""
    expect.set_options(timeout=MILLISECONDS)
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield launched
        await launched.close()


@pytest.fixture
async def fifty(tmp_path: Path) -> AsyncIterator[StubFleet]:
    """Fifty sandboxes."""
    labels = {f"agent-{number:02d}": {"team": "shop" if number % 2 else "books"} for number in range(1, FIFTY + 1)}
    labels["agent-10"]["skill"] = "german"
    async with stub_fleet(tmp_path, stubs(FIFTY), labels) as fleet:
        yield fleet


@asynccontextmanager
async def signed_in(browser: Browser, fleet: StubFleet, person: str = "ann", **options: Any) -> AsyncIterator[Page]:
    """A person's page; an error of its scripts, or of the policy that they are under, fails the test."""
    context: BrowserContext = await browser.new_context(viewport=options.pop("viewport", DESKTOP), **options)
    page, wrong = await context.new_page(), list[str]()
    page.set_default_timeout(MILLISECONDS)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Security Policy" in said.text else None)
    try:
        await page.goto(await fleet.link(person))
        yield page
    finally:
        await context.close()
    assert wrong == []


def tiles(page: Page) -> Any:
    """The tiles that are shown."""
    return page.locator("#tiles > li")


def cards(page: Page) -> Any:
    """The requests that are shown."""
    return page.locator("#queue > li")


async def focused(page: Page) -> str:
    """The sandbox of the request that has the focus."""
    return str(await page.evaluate("document.activeElement.querySelector('strong')?.textContent ?? ''"))


async def test_fifty_are_shown_with_pictures_of_those_in_sight_alone(browser: Browser, fifty: StubFleet) -> None:
    async with signed_in(browser, fifty) as page:
        await expect(tiles(page)).to_have_count(FIFTY)
        assert page.url == f"{fifty.url}/"
        await expect(cards(page)).to_have_count(10)
        await expect(page).to_have_title("(10) Tandem")
        await expect(page.get_by_role("button", name="agent-01, ready, The agent drives")).to_be_visible()
        await expect(page.locator("#tiles img:visible").first).to_be_visible()
        seen = await eventually(lambda: [name for name, stub in fifty.stubs.items() if stub.captures])
        await eventually(lambda: [name for name, stub in fifty.stubs.items() if stub.captures] == seen)
        assert 0 < len(seen) < FIFTY
        assert fifty.stubs["agent-50"].captures == 1, "what asks comes first"
        assert fifty.stubs["agent-49"].captures == 0
        await page.get_by_role("button", name="agent-49, ready").scroll_into_view_if_needed()
        await eventually(lambda: fifty.stubs["agent-49"].captures == 1)


async def test_what_changed_is_shown_and_what_did_not_is_not_sent(browser: Browser, fifty: StubFleet) -> None:
    async with signed_in(browser, fifty) as page:
        one = page.get_by_role("button", name="agent-01, ")
        await expect(one.locator("img")).to_be_visible()
        sent = list[str]()
        page.on("request", lambda request: sent.append(request.url) if "/picture" in request.url else None)
        fifty.stubs["agent-01"].picture = screen(1, 1)
        await eventually(lambda: sent)
        count = fifty.stubs["agent-02"].captures
        fifty.stubs["agent-01"].picture = screen(1, 2)
        await eventually(lambda: len(sent) > 1)
        changed = await fifty.fleet.find("default", "agent-01")
        assert [url for url in sent if f"/v1/sandboxes/{changed.id}/" not in url] == []
        assert fifty.stubs["agent-02"].captures == count == 1
        fifty.stubs["agent-01"].control = control("human", "token:mia#1f03ac")
        fifty.stubs["agent-01"].tell()
        await expect(page.get_by_role("button", name="agent-01, ready, mia drives")).to_be_visible()
        await fifty.fleet.order("default", "agent-01", Desired.PAUSED)
        await expect(page.get_by_role("button", name="agent-01, paused")).to_be_visible()
        await fifty.fleet.order("default", "agent-01", Desired.DELETED)
        await expect(tiles(page)).to_have_count(FIFTY - 1)


async def test_tiles_are_filtered_sorted_and_reached_by_the_keyboard(browser: Browser, fifty: StubFleet) -> None:
    async with signed_in(browser, fifty) as page:
        await expect(tiles(page).first).to_contain_text("agent-05")
        await page.get_by_label("Order", exact=True).select_option("name")
        await expect(tiles(page).first).to_contain_text("agent-01")
        await page.keyboard.press("Escape")
        await page.locator("h1").click()
        await page.keyboard.press("/")
        await page.keyboard.type("team=shop 1")
        await expect(tiles(page)).to_have_count(9)
        await page.get_by_label("Search by name or label").fill("")
        await page.get_by_label("Needs me").check()
        await expect(tiles(page)).to_have_count(10)
        await tiles(page).first.get_by_role("button").focus()
        await page.keyboard.press("ArrowRight")
        assert await page.evaluate("document.activeElement.ariaLabel") == "agent-10, ready, The agent drives, 1 request"
        await page.keyboard.press("ArrowLeft")
        await page.get_by_label("State", exact=True).select_option("ready")
        await page.get_by_label("Search by name or label").fill("nothing-like-it")
        await expect(page.get_by_text("No sandbox matches.")).to_be_visible()


async def test_the_queue_is_gone_through_by_keys_and_answered_in_place(browser: Browser, fifty: StubFleet) -> None:
    async with signed_in(browser, fifty) as page:
        await expect(cards(page)).to_have_count(10)
        await page.keyboard.press("j")
        first = await focused(page)
        await page.keyboard.press("n")
        assert await focused(page) != first
        await page.keyboard.press("k")
        assert await focused(page) == first
        card = cards(page).filter(has_text="git push origin main").first
        name = await card.locator("strong").inner_text()
        stub = fifty.stubs[name]
        await page.wait_for_timeout(500)  # answers count only once the list has settled
        await card.get_by_role("button", name="Allow once").click()
        await eventually(lambda: stub.came("POST /v1/handoffs/"))
        [answered] = stub.came("POST /v1/handoffs/")
        assert (answered.path, answered.body) == (f"/v1/handoffs/{stub.handoffs[0]['id']}/answer", {"outcome": "once", "note": ""})
        stub.handoffs = []
        stub.tell()
        await expect(cards(page)).to_have_count(9)
        await page.get_by_label("Requests that need a skill").select_option("german")
        await expect(cards(page)).to_have_count(1)
        await expect(cards(page)).to_contain_text("agent-10")


async def test_one_person_has_a_request_and_opens_the_sandbox(browser: Browser, fifty: StubFleet) -> None:
    async with signed_in(browser, fifty) as ann, signed_in(browser, fifty, "mia") as mia:
        theirs = cards(mia).filter(has_text="agent-10")
        await expect(theirs.get_by_role("button", name="Claim")).to_be_visible()
        await cards(ann).filter(has_text="agent-10").focus()
        async with ann.context.expect_page() as opened:
            await ann.keyboard.press("Enter")
        assert (await opened.value).url == f"{fifty.stubs['agent-10'].address}/view?ticket=the-ticket"
        await ann.bring_to_front()
        await expect(cards(ann).filter(has_text="agent-10")).to_contain_text("You are at it.")
        await expect(theirs).to_contain_text("ann is at it.")
        await expect(theirs.get_by_role("button", name="Claim")).to_have_count(0)
        await cards(ann).filter(has_text="agent-10").focus()
        await ann.keyboard.press("c")
        await expect(theirs.get_by_role("button", name="Claim")).to_be_visible()
        await theirs.get_by_role("button", name="Claim").click()
        await expect(cards(ann).filter(has_text="agent-10")).to_contain_text("mia is at it.")
        await mia.get_by_role("button", name="Sign out").click()
        await expect(mia.get_by_text("You are not signed in")).to_be_visible()
        await expect(cards(ann).filter(has_text="agent-10").get_by_role("button", name="Claim")).to_be_visible()


async def test_what_a_sandbox_sends_is_text_and_one_that_hangs_harms_no_other(browser: Browser, tmp_path: Path) -> None:
    hostile = StubSandbox(picture=b"<svg onload=alert(1)>", control=control("human", HOSTILE))
    hostile.handoffs = [handoff(kind="choice", reason=HOSTILE * 500, choices=[HOSTILE], asked_by=HOSTILE, instructions=HOSTILE)]
    fine = StubSandbox(picture=screen(1), handoffs=[handoff(reason="Go on?")])
    made = {"hostile": hostile, "fine": fine, "hung": StubSandbox()}
    async with stub_fleet(tmp_path, made, {"hostile": {"label": HOSTILE}}) as fleet:
        fleet.stubs["hung"].hangs = True
        async with signed_in(browser, fleet) as page:
            await expect(cards(page)).to_have_count(2)
            await expect(page.get_by_role("button", name="fine, ready").locator("img")).to_be_visible()
            await expect(cards(page).filter(has_text="hostile").locator(".reason")).to_contain_text("<img src=x onerror=alert(1)>")
            assert await page.locator("#queue img, #queue svg").count() == 0
            assert await page.locator("#tiles > li", has_text="hostile").locator("img:visible").count() == 0
            shown = await page.inner_text("body")
            assert "\u202e" not in shown
            assert len(shown) < 10_000


async def test_a_used_link_says_how_to_get_another(browser: Browser, fifty: StubFleet) -> None:
    async with signed_in(browser, fifty) as page:
        link = await fifty.link()
        await page.goto(link)
        context = await browser.new_context()
        other = await context.new_page()
        await other.goto(link)
        await expect(other.get_by_text("tandem open")).to_be_visible()
        await context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_texts_are_read_easily_and_everything_fits(browser: Browser, fifty: StubFleet, scheme: Any) -> None:
    for viewport in (DESKTOP, PHONE):
        async with signed_in(browser, fifty, viewport=viewport, color_scheme=scheme) as page:
            await expect(cards(page)).to_have_count(10)
            await expect(tiles(page)).to_have_count(FIFTY)
            assert await page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
            assert await page.evaluate(LOW_CONTRAST) == []
            assert await page.evaluate(f"{UNNAMED}.length") == 0
