"""The pages by the keyboard alone: Tab passes the screen, Enter controls it, and a question mark tells the rest."""

import pytest
from playwright.sync_api import Page, expect

from tests.image.container import Sandbox
from tests.pages.every_page import PAGES, show
from tests.patience import until

SCREENS = ("view", "stream", "vnc")
HINT = "Press Enter to control, Ctrl+Alt+Backspace to leave"
FIELD = "data:text/html,<title>-</title><textarea style='position:fixed;inset:0' autofocus oninput='document.title=value'></textarea>"
FOCUSED = """() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at?.classList.contains('tab-stop') ? 'screen' : at?.tagName.toLowerCase() ?? '';
}"""
MOST_TABS = 40
RELEASE = "fetch('/v1/control/release', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})"


def tab_to_screen(page: Page) -> None:
    """Press Tab until the screen has the focus."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED) == "screen":
            return
    pytest.fail("Tab does not come to the screen")


@pytest.mark.parametrize("name", SCREENS)
def test_tab_passes_the_screen_and_enter_controls_it(person: Page, sandbox: Sandbox, name: str) -> None:
    sandbox.show(FIELD)
    sandbox.request("POST", "/v1/browser/page/click", json={"selector": "textarea"}).raise_for_status()
    show(person, sandbox, name)
    try:
        tab_to_screen(person)
        expect(person.get_by_text(HINT)).to_be_visible()
        person.keyboard.type("not this")
        person.keyboard.press("Tab")
        assert person.evaluate(FOCUSED) != "screen"
        expect(person.get_by_text(HINT)).to_be_hidden()
        expect(person.locator("#driver")).to_have_text("The agent drives")
        person.keyboard.press("Shift+Tab")
        assert person.evaluate(FOCUSED) == "screen"
        person.keyboard.press("Enter")
        person.keyboard.type("this")
        expect(person.locator("#driver")).to_have_text("You drive")
        until(lambda: '"this"' in sandbox.request("GET", "/v1/browser/tabs").text)
        person.keyboard.press("Control+Alt+Backspace")
        assert person.evaluate(FOCUSED) == "button"
        person.keyboard.press("Enter")  # the button is the one that hands back
        expect(person.locator("#driver")).to_have_text("The agent drives")
    finally:
        person.evaluate(RELEASE)


def test_control_is_taken_and_handed_back_from_every_page(person: Page, sandbox: Sandbox) -> None:
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    for name in ("home", "terminal", "docs"):
        show(person, sandbox, name)
        expect(person.locator("#driver")).to_have_text("The agent drives")
        for driver in ("You drive", "The agent drives"):
            person.keyboard.press("Control+Alt+Enter")
            expect(person.locator("#driver")).to_have_text(driver)


@pytest.mark.parametrize("name", PAGES)
def test_a_question_mark_lists_the_shortcuts_and_escape_closes_the_list(person: Page, sandbox: Sandbox, name: str) -> None:
    if not PAGES[name].signed_in:
        person.context.clear_cookies()
    show(person, sandbox, name)
    listed = person.get_by_role("dialog", name="Keyboard shortcuts")
    person.locator("[data-chooses=theme]").focus()  # some pages begin in a field
    person.keyboard.press("?")
    expect(listed).to_be_visible()
    expect(listed.locator("dt").first).to_have_text("?")
    if name in SCREENS:
        expect(listed).to_contain_text("Ctrl+Alt+Backspace")
    person.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    person.locator("[data-chooses=shortcuts]").click()
    expect(listed).to_be_visible()
    listed.get_by_role("button", name="Close").click()
    expect(listed).to_be_hidden()


def test_a_question_mark_in_a_field_is_typed(person: Page, sandbox: Sandbox) -> None:
    show(person, sandbox, "docs")
    person.locator("#search").fill("")
    person.locator("#search").press("?")
    expect(person.locator("#search")).to_have_value("?")
    expect(person.get_by_role("dialog")).to_have_count(0)


def test_every_button_of_the_live_page_says_what_it_does(person: Page, sandbox: Sandbox) -> None:
    show(person, sandbox, "view")
    person.locator("footer .button").first.wait_for(state="attached")
    titles = person.locator("footer .tools .button").evaluate_all("buttons => buttons.map((button) => [button.id, button.title])")
    assert len(titles) > 5
    assert [name for name, said in titles if not said] == []
