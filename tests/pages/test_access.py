"""Pages for everybody: nothing that axe-core finds, nothing sideways on a phone, and no English on a Chinese page."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP, PHONE
from tests.pages.every_page import PAGES, WEB, folders, show

AXE = Path("/opt/lint/node_modules/axe-core/axe.min.js")
RUN = """async () => (await axe.run(document, { resultTypes: ['violations'] })).violations.map(({ id, nodes }) =>
    `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join('; ')}`)"""
LOOKS: dict[str, dict[str, Any]] = {
    "desktop-light": {**DESKTOP, "color_scheme": "light"},
    "desktop-dark": {**DESKTOP, "color_scheme": "dark"},
    "phone-light": {**PHONE, "color_scheme": "light"},
    "phone-dark": {**PHONE, "color_scheme": "dark"},
}
WIDTHS = (390, 360)
SHOWN_TEXTS = """() => {
    const found = [], seen = (root) => {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            if (node.nodeType === Node.TEXT_NODE) {
                if (!node.parentElement?.closest('script, style, template, code, pre, [lang=en]')) found.push(node.data);
            } else {
                found.push(...['aria-label', 'title', 'placeholder', 'alt'].map((name) => node.getAttribute(name) ?? ''));
                if (node.shadowRoot) seen(node.shadowRoot);
            }
        }
    };
    seen(document.documentElement);
    return found.map((text) => text.trim()).filter(Boolean);
}"""
STRING = re.compile(r"""^\s*(\w+):\s*((?:\s*\+?\s*"(?:[^"\\]|\\.)*")+),$""", re.MULTILINE)
PLACEHOLDER = re.compile(r"\\\{\w+\\\}")
SPLIT = {"bar", "home"}
"""Folders whose languages have a file each."""
FEWEST_LETTERS = 4
"""An English string that is shorter, such as API, may be a name."""


class Visitors:
    """A signed-in and a signed-out browser for each look, opened once."""

    def __init__(self, browser: Browser, sandbox: Sandbox, stack: ExitStack) -> None:
        self._browser = browser
        self._sandbox = sandbox
        self._stack = stack
        self._pages: dict[str, Page] = {}

    def page(self, name: str, *, signed_in: bool, **options: Any) -> Page:
        """The page of the visitor of that name."""
        key = f"{name} {signed_in}"
        if key not in self._pages:
            context = self._stack.enter_context(self._browser.new_context(**options, bypass_csp=True))
            self._pages[key] = self._enter(context, signed_in=signed_in)
        return self._pages[key]

    def _enter(self, context: BrowserContext, *, signed_in: bool) -> Page:
        page = context.new_page()
        if signed_in:
            page.goto(f"{self._sandbox.base_url}/v1/docs?api_key={self._sandbox.api_key}")
        return page


@pytest.fixture(scope="module")
def visitors(browser: Browser, sandbox: Sandbox) -> Iterator[Visitors]:
    sandbox.request("GET", "/v1/sandbox").raise_for_status()  # an agent was there, so that the bar has everything
    with ExitStack() as stack:
        yield Visitors(browser, sandbox, stack)


def test_every_page_is_among_those_that_are_tested() -> None:
    assert folders() == set(PAGES)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(visitors: Visitors, sandbox: Sandbox, name: str, look: str) -> None:
    page = visitors.page(look, signed_in=PAGES[name].signed_in, locale="en-US", **LOOKS[look])
    show(page, sandbox, name)
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate(RUN) == []


COLOURS = r"for n in $(seq 0 15); do printf '\e[38;5;%dmcolour %d\e[0m\n' $n $n; done"


def test_axe_finds_nothing_in_a_terminal_whatever_colours_a_program_writes_in(visitors: Visitors, sandbox: Sandbox) -> None:
    sandbox.request("POST", "/v1/shell/exec", json={"command": COLOURS}).raise_for_status()
    page = visitors.page("desktop-light", signed_in=True, locale="en-US", **LOOKS["desktop-light"])
    show(page, sandbox, "terminal")
    page.locator(".xterm-rows").get_by_text("colour 15", exact=True).wait_for()
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate(RUN) == []


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_in_what_opens(visitors: Visitors, sandbox: Sandbox, look: str) -> None:
    made = sandbox.request("POST", "/v1/handoffs", json={"kind": "confirm", "reason": "Place the order for 12.90?"}).json()["data"]
    page = visitors.page(look, signed_in=True, locale="en-US", **LOOKS[look])
    show(page, sandbox, "view")
    try:
        page.get_by_text("Place the order for 12.90?").filter(visible=True).first.wait_for()
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(RUN) == []
        for opens in ("[data-chooses=shortcuts]", "#viewers"):
            page.evaluate("(opens) => document.querySelector(opens).click()", opens)
            assert page.evaluate(RUN) == []
            page.keyboard.press("Escape")
    finally:
        sandbox.request("DELETE", f"/v1/handoffs/{made['id']}")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_phone_scrolls_no_page_sideways(visitors: Visitors, sandbox: Sandbox, name: str, width: int) -> None:
    phone = {**PHONE, "viewport": {"width": width, "height": 780}}
    for locale in ("en-US", "zh-CN"):
        page = visitors.page(f"{width} {locale}", signed_in=PAGES[name].signed_in, locale=locale, **phone)
        show(page, sandbox, name)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("window.visualViewport.width") == width


def english() -> list[re.Pattern[str]]:
    """What the pages say in English where they say it otherwise in Chinese; a placeholder stands for anything."""
    found = []
    for file in sorted(WEB.rglob("*.js")):
        said, at, chinese = file.read_text("utf-8"), "const ENGLISH", "const CHINESE"
        if file.parent.name in SPLIT and file.name == "english.js":
            said += (file.parent / "chinese.js").read_text("utf-8")
        if "vendor" in file.parts or at not in said or chinese not in said:
            continue
        parts = said[said.index(at) :].split(chinese)
        texts, others = ({key: joined(text) for key, text in STRING.findall(part)} for part in parts[:2])
        found += [pattern(text) for key, text in texts.items() if others.get(key, text) != text and letters(text) >= FEWEST_LETTERS]
    return found


def joined(text: str) -> str:
    """A string of a module, which may be several that are added."""
    return "".join(json.loads(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', text))


def letters(text: str) -> int:
    return len(re.findall("[A-Za-z]", re.sub(r"\{\w+\}", "", text)))


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(PLACEHOLDER.sub(".*", re.escape(text)))


def test_the_strings_of_the_pages_are_found() -> None:
    patterns = english()
    assert len(patterns) > 300
    assert any(pattern.fullmatch("Signed in as owner") for pattern in patterns)


@pytest.mark.parametrize("name", PAGES)
def test_a_chinese_page_has_no_english_left(visitors: Visitors, sandbox: Sandbox, name: str) -> None:
    page = visitors.page("Chinese", signed_in=PAGES[name].signed_in, locale="zh-CN", **DESKTOP)
    show(page, sandbox, name)
    page.keyboard.press("Control+Alt+Backspace")
    page.locator("[data-chooses=shortcuts]").click()
    texts = page.evaluate(SHOWN_TEXTS)
    page.keyboard.press("Escape")
    patterns = english()
    assert [text for text in texts if any(each.fullmatch(text) for each in patterns)] == []
    assert page.evaluate("document.documentElement.lang") == "zh"
    assert any(re.search("[\u4e00-\u9fff]", text) for text in texts)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_the_switch_of_the_language(visitors: Visitors, sandbox: Sandbox, name: str) -> None:
    page = visitors.page("switch", signed_in=PAGES[name].signed_in, locale="en-US", **DESKTOP)
    page.goto(sandbox.base_url + "/v1/docs")
    page.evaluate("localStorage.removeItem('language')")
    show(page, sandbox, name)
    page.get_by_role("button", name="中文").click()
    page.locator("html[lang=zh]").wait_for()
    page.get_by_role("button", name="English").click()
    page.locator("html[lang=en]").wait_for()
