"""The page of the recorder in a real browser: what was done, told in sentences, with video, private time and links to moments."""

import io
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import av
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from websockets.sync.client import connect

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.patience import PATIENCE_SECONDS, until

COVERED_SECONDS = 3.0
"""Within so long after private mode began the recording is covered."""
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
STAND_STILL = "(play) => { if (play.textContent === 'Pause') play.click(); }"
"""In one go: the recording may end by itself between a look and a click."""
PAGE = "data:text/html," + quote("<title>Shop</title><label>Street <input id=street></label>")


@contextmanager
def recorder(browser: Browser, sandbox: Sandbox, at: float | None = None, language: str = "en", **context: Any) -> Iterator[Page]:
    """The page of somebody who signed in; an error of its scripts fails the test."""
    with browser.new_context(**({"viewport": {"width": 1440, "height": 900}, "timezone_id": "Europe/Berlin"} | context)) as made:
        page = made.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{sandbox.base_url}/recorder?api_key={sandbox.api_key}")
        page.goto(f"{sandbox.base_url}/recorder?lang={language}{f'#t={at}' if at is not None else ''}")
        page.locator("#list .row").first.wait_for()
        yield page
    assert wrong == []


def row(page: Page, text: str) -> Locator:
    return page.locator("#list .row > button", has_text=text).first


def events(sandbox: Sandbox, **query: str | int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sandbox.request("GET", "/v1/recorder/events", params=query).json()["data"]["events"]
    return found


def pictures_of_before(sandbox: Sandbox) -> int:
    """How many pictures the recorder keeps of the screen before somebody took control."""
    return sandbox.exec("find", "/run/sandbox-recorder/pictures", "-name", "*-before.jpg").stdout.count("\n")


@pytest.fixture(scope="module")
def took_over(sandbox: Sandbox) -> dict[str, Any]:
    """What happened: the agent ran a command, asked, and a person drove, part of it in private. Gives the moments and the person's name."""
    sandbox.show(PAGE)
    sandbox.request("POST", "/v1/bash/exec", json={"command": "echo said before it failed; exit 3"})
    asked = sandbox.request("POST", "/v1/handoffs", json={"kind": "confirm", "reason": "Place the order for 12.90?"}).json()["data"]["id"]
    person = Person(sandbox)
    person.ask("POST", f"/v1/handoffs/{asked}/answer", json={"outcome": "done"})
    pictures = pictures_of_before(sandbox)
    taken = person.control("take")
    until(lambda: pictures_of_before(sandbox) > pictures)  # none is kept where it became private meanwhile
    person.ask("POST", "/v1/browser/page/click", json={"selector": "#street"})
    person.ask("POST", "/v1/browser/page/type", json={"text": "Main Street"})
    person.ask("POST", "/v1/file/write", json={"file": "/home/gem/of-the-person.txt", "content": "x"})
    person.control("private")
    hidden = time.time()
    until(lambda: time.time() > hidden + COVERED_SECONDS + 2)
    person.control("public")
    person.control("release", note="street filled in")
    until(lambda: any(each["receipt"]["began_at"] < hidden < each["at"] for each in events(sandbox, kind="receipt")))
    person.control("freeze")
    person.control("thaw")
    person.ask("POST", "/tickets", json={"scopes": ["view"], "ttl": 600})
    return {"holder": taken["holder"], "hidden": hidden}


def test_what_was_done_is_told_with_who_and_the_outcome(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    name, _, session = took_over["holder"].partition("#")
    who = f"{name} · {session[:4]}"
    with recorder(browser, sandbox) as page:
        expect(row(page, "Agent ran echo said before it failed; exit 3, exit 3")).to_be_visible()
        expect(row(page, f"Agent asked: Place the order for 12.90?; {who} answered Yes")).to_be_visible()
        expect(row(page, f"{who} changed 2 things: field Street, file of-the-person.txt")).to_be_visible()
        for told in (
            "took control",
            "turned on private mode",
            "turned off private mode",
            "handed control back to the agent",
            "paused the agent",
        ):
            expect(row(page, f"{who} {told}")).to_be_visible()
        expect(row(page, f"{who} made an invite link: can watch")).to_be_visible()
        expect(page.get_by_text(took_over["holder"])).to_have_count(0)


def test_a_command_opens_with_its_output(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    with recorder(browser, sandbox) as page:
        ran = row(page, "Agent ran echo said before it failed")
        ran.click()
        expect(ran).to_have_attribute("aria-expanded", "true")
        expect(page.locator(".detail .output")).to_have_text("said before it failed")
        ran.click()
        expect(page.locator(".detail")).to_have_count(0)


def test_a_receipt_opens_with_the_pictures_of_before_and_after(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    with recorder(browser, sandbox) as page:
        row(page, "changed 2 things: field Street").click()
        pictures = page.locator(".detail img")
        expect(pictures).to_have_count(2)
        until(lambda: all(one.evaluate("(picture) => picture.naturalWidth > 0") for one in pictures.all()))
        expect(page.locator(".detail")).to_contain_text("Part of it was private")
        expect(page.locator(".detail")).to_contain_text("street filled in")


def test_private_time_is_a_band_and_the_picture_of_before_is_covered(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    moment = took_over["hidden"] + COVERED_SECONDS
    with recorder(browser, sandbox, moment) as page:
        expect(page.locator("#covered")).to_be_visible()
        expect(page.locator("#covered")).to_contain_text("had hidden the screen")
        bands = page.locator(".lane .private")
        assert bands.count() >= page.locator(".lane").count()
        until(lambda: any((band.bounding_box() or {"width": 0})["width"] >= 2 for band in bands.all()))
    assert shade_at(sandbox, moment) == pytest.approx((40, 44, 48), abs=12), (
        "the recording itself is covered, although the screen stood still"
    )


def shade_at(sandbox: Sandbox, moment: float) -> tuple[int, ...]:
    """The colour of a corner of the screen's recording at a moment."""
    films = sandbox.request("GET", "/v1/recorder/video").json()["data"]["films"]
    film = next(each for each in films if each["start"] <= moment <= each["end"])
    raw = sandbox.request("GET", f"/v1/recorder/video/{film['name']}").content
    found: tuple[int, ...] = ()
    with av.open(io.BytesIO(raw), mode="r") as opened:
        for frame in opened.decode(video=0):
            if frame.time is not None and film["start"] + frame.time <= moment:
                found = frame.to_image().getpixel((20, 300))  # type: ignore[no-untyped-call] # the package leaves it out
    return found


def test_a_terminal_that_merely_stood_open_is_nobody_acting(browser: Browser, sandbox: Sandbox) -> None:
    before = events(sandbox, limit=1)[-1]["n"]
    person = Person(sandbox)
    address = sandbox.base_url.replace("http", "ws")
    with connect(f"{address}/v1/shell/ws", additional_headers=person.headers) as terminal:
        terminal.recv(timeout=PATIENCE_SECONDS)
    until(lambda: [each for each in events(sandbox, after=before) if each.get("operation") == "shell.terminal"])
    [opened] = [each for each in events(sandbox, after=before) if each.get("operation") == "shell.terminal"]
    assert (opened["kind"], opened["socket"]) == ("call", True)
    with recorder(browser, sandbox) as page:
        expect(page.locator("#list .row", has_text="had a terminal open")).to_have_count(0)


def test_it_opens_at_the_last_recording_and_plays_from_any_row(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    with recorder(browser, sandbox) as page:
        expect(page.locator("#unrecorded")).to_be_hidden()
        play = page.locator("#play")
        expect(play).to_have_text("Play")
        play.click()
        expect(play).to_have_text("Pause")
        row(page, "took control").click()
        until(lambda: is_true_of_the_video(page))
        page.locator("#speed label").last.click()
        if play.inner_text() == "Pause":
            until(lambda: page.locator("video").evaluate("(video) => video.playbackRate") == 4)
        play.evaluate(STAND_STILL)
        expect(play).to_have_text("Play")
        row(page, "Agent ran echo said before it failed").click()
        until(lambda: is_true_of_the_video(page))
        expect(play).to_have_text("Play")


def is_true_of_the_video(page: Page) -> bool:
    """Whether the button says what the video does."""
    paused = page.locator("video").evaluate("(video) => video.paused || video.ended")
    return (page.locator("#play").inner_text() == "Play") == bool(paused)


def test_a_link_leads_to_its_moment(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    with recorder(browser, sandbox) as page:
        row(page, "turned on private mode").click()
        page.locator("#link").click()
        expect(page).to_have_url(re.compile(r"#t=\d{4}-\d\d-\d\dT"))
        link, told = page.url, page.locator("#clock").inner_text()
        page.goto("about:blank")
        page.goto(link)
        expect(page.locator("#clock")).to_have_text(told)
        expect(page.locator("#list [aria-current]")).to_contain_text("turned on private mode")


def test_times_have_24_hours_and_the_zone_is_said_once(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    with recorder(browser, sandbox, locale="en-US") as page:
        expect(page.locator("#times")).to_have_text(re.compile(r"^Times in Europe/Berlin \(GMT\+[12]\)$"))
        times = page.locator("#list .row time").all_inner_texts()
        shown = [each for each in times if each]
        assert shown
        assert [each for each in shown if not re.fullmatch(r"(\w+ \d+ )?\d\d:\d\d:\d\d", each)] == []


def test_the_record_is_verified_in_the_pages_words(browser: Browser, sandbox: Sandbox, took_over: dict[str, Any]) -> None:
    with recorder(browser, sandbox) as page:
        expect(page.locator("#message")).to_have_text("")
        page.get_by_role("button", name="Verify record").click()
        expect(page.locator("#message")).to_have_text(re.compile(r"^Record verified: \d+ events, unbroken$"))
        page.get_by_role("button", name="Save last 10 minutes").click()
        expect(page.locator("#message")).to_have_text(re.compile(r"^Saved: ten minutes up to "))
        expect(page.locator("#state")).to_have_text("Live")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_in_chinese_without_scrolling_sideways(
    browser: Browser, sandbox: Sandbox, took_over: dict[str, Any], scheme: str
) -> None:
    with recorder(browser, sandbox, language="zh", color_scheme=scheme, **PHONE) as page:
        expect(row(page, "智能体运行了")).to_be_visible()
        row(page, "开启了私密模式").click()
        expect(page.locator("#covered")).to_contain_text("隐藏了屏幕")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["viewport"]["width"]
        told = page.locator("#list .row .what").evaluate_all("(rows) => rows.map((row) => row.textContent)")
        assert [each for each in told if not re.search("[\u4e00-\u9fff]", each)] == []
