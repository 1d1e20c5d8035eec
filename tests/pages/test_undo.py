"""Undo where people look, in a real browser: checkpoints on the home page, the live page and the recorder."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP, PHONE, keep_messages, messages, sign_in
from tests.pages.test_access import AXE, LOOKS, RUN
from tests.patience import until

SITE = "mkdir -p ~/site/img && head -c 3000000 /dev/zero > ~/site/img/big.png && echo one > ~/site/index.html"
SERVER = "cd ~ && exec python3 -m http.server 3456"
EVIL = "a\n\u202e<b>gpj.exe"
"""A name that would end its line and turn what follows it."""
LOADED = "(place) => { place.scrollIntoView(); return customElements.get(place.localName) !== undefined; }"
SCROLL_WIDTH = "document.documentElement.scrollWidth"
OUTSIDE = """(panel) => Array.from(panel.querySelectorAll('*')).filter((part) =>
    part.checkVisibility() && part.getBoundingClientRect().right > panel.getBoundingClientRect().right + 1)
    .map((part) => part.outerHTML.slice(0, 99))"""


@pytest.fixture(scope="module")
def undoing(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container in which an agent works and a restore is nobody else's."""
    found = sandbox_with()
    agent(found, SITE)
    return found


@pytest.fixture
def person(browser: Browser, undoing: Sandbox) -> Iterator[Page]:
    """The page of a person who signed in on a desktop."""
    with browser.new_context(**DESKTOP, locale="en-US") as context:
        yield sign_in(context, undoing)


def agent(sandbox: Sandbox, command: str, **more: Any) -> str:
    """Run a command as the agent; what it wrote."""
    reply = sandbox.request("POST", "/v1/bash/exec", json={"command": command} | more)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["data"]["stdout"])


def checkpoint(sandbox: Sandbox, label: str) -> str:
    """The id of a checkpoint that the agent makes."""
    reply = sandbox.request("POST", "/v1/checkpoints", json={"label": label})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["data"]["checkpoint"]["id"])


def live(page: Page, sandbox: Sandbox) -> Locator:
    """The panel of the live page, open."""
    page.goto(f"{sandbox.base_url}/view")
    page.get_by_role("button", name="Checkpoints", exact=True).click()
    panel = page.locator("tandem-checkpoints")
    expect(panel.locator(".checkpoint").last).to_be_visible()
    return panel


def on_home(page: Page) -> Locator:
    """The panel of the home page, which loads when it is about to be seen."""
    panel = page.locator("tandem-checkpoints")
    reach(page)
    expect(panel.locator(".checkpoint").last).to_be_visible()
    return panel


def reach(page: Page) -> None:
    """Scroll to the panel until it is loaded: what the page shows above may still grow, and push it away."""
    expect(page.locator("#driver")).to_have_attribute("class", "driver")
    until(lambda: page.locator("tandem-checkpoints").evaluate(LOADED))


def row(panel: Locator, name: str) -> Locator:
    return panel.locator(".checkpoint", has=panel.page.locator(".head .name", has_text=re.compile(f"^{re.escape(name)}$"))).first


def ask(panel: Locator, name: str) -> Locator:
    """The question whether to go back to a checkpoint."""
    row(panel, name).get_by_role("button", name="Go back…").click()
    return row(panel, name).locator(".plan")


def test_row_7_a_checkpoint_by_a_click_leaves_programs_alone_and_says_so(person: Page, undoing: Sandbox) -> None:
    agent(undoing, SERVER, async_mode=True)
    until(lambda: agent(undoing, "curl -s -o /dev/null http://127.0.0.1:3456 && echo up") == "up\n")
    before = agent(undoing, "pgrep -f '[h]ttp.server 3456'; pgrep -o chromium")
    person.goto(undoing.base_url)
    panel = on_home(person)
    panel.get_by_role("textbox", name="Name (optional)").fill("before I try it")
    panel.get_by_role("button", name="Make a checkpoint").click()
    expect(panel.locator("> .progress")).to_have_text(re.compile(r"^“before I try it” is made\. Programs stood still for \d+ ms\.$"))
    expect(row(panel, "before I try it").locator(".muted")).to_contain_text("You")
    expect(row(panel, "before I try it").get_by_text("Current")).to_be_visible()
    assert agent(undoing, "pgrep -f '[h]ttp.server 3456'; pgrep -o chromium") == before


def test_row_7_who_watches_is_told_who_made_one_and_that_nothing_stopped(person: Page, undoing: Sandbox) -> None:
    person.goto(f"{undoing.base_url}/view")
    expect(person.locator("#driver")).to_have_text("The agent drives")
    keep_messages(person)
    checkpoint(undoing, "nightly")
    until(lambda: "The agent made the checkpoint “nightly”. No programs were stopped." in messages(person))


def test_row_8_files_that_the_agent_removed_come_back_by_clicks_and_that_can_be_undone(person: Page, undoing: Sandbox) -> None:
    checkpoint(undoing, "site is fine")
    agent(undoing, "rm -rf ~/site; echo x > ~/stray")
    panel = live(person, undoing)
    plan = ask(panel, "site is fine")
    expect(plan).to_contain_text(re.compile(r"It stops \d+ programs: "))
    expect(plan).to_contain_text("kept first, as an automatic checkpoint")
    expect(plan.locator(".line", has_text="site")).to_contain_text(re.compile(r"comes back\s*2\.9 MiB"))
    expect(plan.locator(".line", has_text="stray")).to_contain_text(re.compile(r"is removed\s*2 B"))
    assert agent(undoing, "ls ~") == "stray\n", "nothing happens before somebody says so"
    plan.get_by_role("button", name="Go back", exact=True).click()
    expect(panel.locator(".outcome")).to_contain_text(
        re.compile(r"The files are those of “site is fine” again\. \d+ programs were stopped")
    )
    assert agent(undoing, "cat ~/site/index.html; ls ~") == "one\nsite\n"
    expect(row(panel, "Before going back to “site is fine”").get_by_text("Automatic")).to_be_visible()
    panel.get_by_role("button", name="Undo this…").click()
    row(panel, "Before going back to “site is fine”").locator(".plan").get_by_role("button", name="Go back", exact=True).click()
    expect(panel.locator(".outcome")).to_contain_text("The files are those of “Before going back to “site is fine”” again")
    assert agent(undoing, "ls ~") == "stray\n"
    agent(undoing, f"rm ~/stray; {SITE}")


def test_row_8_the_comparison_is_a_tree_with_sizes_whatever_names_the_agent_chose(person: Page, undoing: Sandbox) -> None:
    checkpoint(undoing, "as it was")
    name = "".join(f"\\x{byte:02x}" for byte in EVIL.encode())
    agent(undoing, f"cd ~/site && head -c 2048 /dev/zero > $'{name}' && touch {'n' * 250} && echo longer > index.html && rm img/big.png")
    panel = live(person, undoing)
    row(panel, "as it was").get_by_role("button", name="Compare as it was").click()
    tree = row(panel, "as it was").locator(".changes")
    expect(tree.locator("> p").first).to_have_text("2 added, 1 changed, 1 deleted.")
    tree.locator(".line", has_text="img/").click()
    for line, said in {
        "img/": r"1 deleted\s*2\.9 MiB",
        "big.png": r"deleted\s*2\.9 MiB",
        "index.html": r"changed\s*4 B → 7 B",
        "a\ufffd\ufffd<b>gpj.exe": r"added\s*2\.0 KiB",
        "nnn": r"added\s*0 B",
    }.items():
        expect(tree.locator(".line", has_text=line)).to_contain_text(re.compile(said))
    assert panel.evaluate(OUTSIDE) == []
    tree.locator(".line", has_text="img/").click()
    expect(tree.locator(".line", has_text="big.png")).to_be_hidden()
    row(panel, "as it was").get_by_label("Compare with").select_option(label="The image, before anything was done")
    expect(row(panel, "as it was").locator(".changes > p").first).to_contain_text("added")
    agent(undoing, f"rm -r ~/site; {SITE}")


def test_row_8_an_entry_of_the_recorder_goes_back_to_before_it_and_says_what_is_lost(person: Page, undoing: Sandbox) -> None:
    kept = checkpoint(undoing, "before the mistake")
    agent(undoing, "rm -rf ~/site # the mistake")
    agent(undoing, "echo later > ~/later")
    person.goto(f"{undoing.base_url}/recorder")
    mark = person.locator(f'.lane[data-driver=checkpoints] .mark[data-id="{kept}"]')
    expect(mark).to_have_attribute("title", "before the mistake")
    person.locator("#list .row > button", has_text="the mistake").filter(has_text="ran").first.click()
    person.get_by_role("button", name="Go back to before this…").click()
    plan = person.locator(".detail .plan")
    expect(plan).to_contain_text("Go back to “before the mistake”?")
    expect(plan).to_contain_text(re.compile(r"The last checkpoint before this is of [\d:]+, \d+ seconds? earlier\."))
    expect(plan).to_contain_text(re.compile(r"lost where it changed files: \d+ commands"))
    plan.get_by_role("button", name="Go back", exact=True).click()
    expect(person.locator(".detail .outcome")).to_contain_text("The files are those of “before the mistake” again")
    assert agent(undoing, "ls ~") == "site\n"
    person.get_by_role("button", name="Undo this…").click()
    expect(person.locator("tandem-checkpoints .plan")).to_contain_text("Go back to “Before going back to “before the mistake””?")


def test_row_8_who_watches_is_told_who_went_back_and_what_stopped(browser: Browser, person: Page, undoing: Sandbox) -> None:
    kept = checkpoint(undoing, "to come back to")
    with guest(browser, undoing) as watching:
        person.goto(undoing.base_url)
        expect(person.locator("#driver")).to_have_text("The agent drives")
        pages = person, watching.pages[0]
        for page in pages:
            keep_messages(page)
        until(lambda: agent(undoing, "pgrep -o chromium"))  # after the restore of another test it comes back in its own time
        undoing.request("POST", f"/v1/checkpoints/{kept}/restore").raise_for_status()
        told = re.compile(r"The agent went back to the checkpoint “to come back to”\. \d+ programs were stopped: .*chrom")
        for page in pages:
            until(lambda page=page: any(map(told.search, messages(page))))  # type: ignore[misc] # one for each


def guest(browser: Browser, sandbox: Sandbox) -> BrowserContext:
    """The browser of somebody who was let in to watch."""
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": ["view"]}).json()["ticket"]
    context = browser.new_context(**DESKTOP, locale="en-US")
    page = context.new_page()
    page.goto(f"{sandbox.base_url}/view?ticket={ticket}")
    expect(page.locator("#driver")).to_have_text("The agent drives")
    return context


def test_row_8_a_guest_sees_no_button_of_it(browser: Browser, undoing: Sandbox) -> None:
    with guest(browser, undoing) as context:
        page = context.pages[0]
        page.locator("main[data-picture=connected]").wait_for()
        for path in ("/view", "/"):
            page.goto(undoing.base_url + path)
            expect(page.locator("#driver")).to_have_text("The agent drives")
            reach(page)
            expect(page.get_by_role("button", name="Checkpoints")).to_have_count(0)
            expect(page.get_by_role("button", name="Make a checkpoint")).to_have_count(0)


def test_row_8_while_somebody_else_drives_it_says_who_before_and_after(browser: Browser, person: Page, undoing: Sandbox) -> None:
    checkpoint(undoing, "held")
    with browser.new_context(**DESKTOP, locale="en-US") as other:
        driving = sign_in(other, undoing)
        driving.goto(f"{undoing.base_url}/v1/docs")
        driving.get_by_role("button", name="Take control").click()
        expect(driving.locator("#driver")).to_have_text("You drive")
        plan = ask(live(person, undoing), "held")
        expect(plan).to_contain_text("has control. Ask for control first, then go back.")
        plan.get_by_role("button", name="Go back", exact=True).click()
        expect(plan.get_by_role("status")).to_contain_text("Nothing was changed.")
        driving.get_by_role("button", name="Hand back to agent").click()
        expect(driving.locator("#driver")).to_have_text("The agent drives")


def test_row_8_by_keyboard_the_question_opens_and_is_left_with_escape(person: Page, undoing: Sandbox) -> None:
    checkpoint(undoing, "by keyboard")
    panel = live(person, undoing)
    back = row(panel, "by keyboard").get_by_role("button", name="Go back…")
    back.focus()
    person.keyboard.press("Enter")
    plan = row(panel, "by keyboard").locator(".plan")
    expect(plan).to_be_focused()
    expect(plan.get_by_role("button", name="Go back", exact=True)).to_be_enabled()
    person.keyboard.press("Escape")
    expect(plan).to_have_count(0)
    expect(back).to_be_focused()
    expect(panel).to_be_visible()
    person.keyboard.press("Escape")
    expect(panel).to_be_hidden()


@pytest.mark.parametrize("width", [390, 360])
def test_row_8_a_phone_has_it_in_chinese_without_scrolling_sideways(browser: Browser, undoing: Sandbox, width: int) -> None:
    checkpoint(undoing, "\u202ephone\n" + "x" * 190)
    with browser.new_context(**(PHONE | {"viewport": {"width": width, "height": 800}}), locale="zh-CN") as context:
        page = sign_in(context, undoing)
        for path in ("/", "/view"):
            page.goto(undoing.base_url + path)
            if path == "/view":
                page.get_by_role("button", name="检查点", exact=True).click()
            panel = page.locator("tandem-checkpoints") if path == "/view" else on_home(page)
            newest = panel.locator(".checkpoint").first
            newest.get_by_role("button", name="返回…").click()
            expect(newest.locator(".plan")).to_contain_text("将停止")
            expect(newest.locator(".plan").get_by_role("button", name="返回", exact=True)).to_be_enabled()
            assert panel.evaluate(OUTSIDE) == []
            assert page.evaluate(SCROLL_WIDTH) == width


@pytest.mark.parametrize("look", LOOKS)
def test_row_28_axe_finds_nothing_in_the_panel_with_a_question_and_a_comparison(browser: Browser, undoing: Sandbox, look: str) -> None:
    checkpoint(undoing, "accessible")
    agent(undoing, "echo changed > ~/site/index.html; echo new > ~/site/new; rm ~/site/img/big.png")
    checkpoint(undoing, "with changes")
    agent(undoing, "rm ~/site/new")
    with browser.new_context(**LOOKS[look], locale="en-US", bypass_csp=True) as context:
        panel = live(sign_in(context, undoing), undoing)
        row(panel, "accessible").get_by_role("button", name="Compare").click()
        expect(row(panel, "accessible").locator(".line", has_text="index.html")).to_be_visible()
        plan = ask(panel, "with changes")
        expect(plan.get_by_role("button", name="Go back", exact=True)).to_be_enabled()
        expect(plan.locator(".line").first).to_be_visible()
        panel.page.evaluate(AXE.read_text("utf-8"))
        assert panel.page.evaluate(RUN) == []
    agent(undoing, f"rm -r ~/site; {SITE}")
