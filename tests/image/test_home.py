"""The home page in a real browser, as a person meets it on a desk and on a phone."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.image.chromium import chromium
from tests.image.container import Sandbox


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser of the person's own, outside the sandbox."""
    with chromium() as launched:
        yield launched


@contextmanager
def home(browser: Browser, sandbox: Sandbox, width: int, height: int) -> Iterator[Page]:
    """The home page of somebody who signed in; an error of its scripts fails the test."""
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{sandbox.base_url}/?api_key={sandbox.api_key}")
    expect(page.locator("#readiness")).to_have_text("Ready")
    yield page
    context.close()
    assert wrong == []


def test_the_terminal_is_opened_in_its_pane_and_is_there_again_after_a_reload(browser: Browser, sandbox: Sandbox) -> None:
    sandbox.request("POST", "/v1/shell/exec", json={"command": "true"})
    with home(browser, sandbox, 1440, 1000) as page:
        pane = page.locator("[data-pane=terminal]")
        pane.get_by_role("button", name="Show here").click()
        expect(pane.frame_locator("iframe").locator("#connection")).to_have_text("Connected")
        session = pane.frame_locator("iframe").locator("#sessions")
        expect(session).not_to_have_value("")
        before = session.input_value()
        pane.get_by_role("button", name="Enlarge").click()
        page.reload()
        expect(pane.frame_locator("iframe").locator("#connection")).to_have_text("Connected")
        expect(session).to_have_value(before)
        expect(pane.get_by_role("button", name="Shrink")).to_be_visible()
        pane.get_by_role("button", name="Close").click()
        expect(pane.locator("iframe")).to_have_count(0)


def test_the_desktop_is_seen_and_what_is_not_installed_says_so(browser: Browser, sandbox: Sandbox) -> None:
    installed = {each["name"]: each["installed"] for each in sandbox.request("GET", "/v1/editors").json()["data"]["editors"]}
    with home(browser, sandbox, 1440, 1000) as page:
        expect(page.get_by_alt_text("The desktop as it is now")).to_be_visible()
        for pane, program in (("editor", "code-server"), ("notebook", "jupyter")):
            card = page.locator(f"[data-pane={pane}]")
            if installed[program]:
                expect(card.get_by_role("link", name="Open")).to_be_visible()
            else:
                expect(card.locator(".state")).to_have_text("Not installed")


def test_health_and_servers_are_told_where_it_unfolds_and_a_phone_has_room_for_all_of_it(browser: Browser, sandbox: Sandbox) -> None:
    with home(browser, sandbox, 390, 844) as page:
        page.locator("#operator summary").click()
        expect(page.locator("#states li", has_text="Gateway")).to_contain_text("ready")
        expect(page.locator("#servers li", has_text="chrome devtools")).to_be_visible()
        expect(page.locator("#checks li", has_text="separate users")).to_be_visible()
        expect(page.locator("#ports li").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("xterm@5.3.0/lib/xterm.js", "Terminal"),
        ("xterm@5.3.0/css/xterm.css", ".xterm"),
        ("xterm-addon-fit@0.8.0/lib/xterm-addon-fit.js", "FitAddon"),
    ],
)
def test_the_terminals_library_is_where_clients_own_pages_expect_it(sandbox: Sandbox, path: str, says: str) -> None:
    answer = sandbox.request("GET", f"/static/sandbox/{path}")
    assert answer.status_code == 200
    assert says in answer.text
    assert sandbox.request("GET", "/static/sandbox/xterm@5.3.0/package.json").status_code == 404
