"""What waits for a person's yes, in real Chromium: what wants what, one click each, on every page, on a desktop and on a phone."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.image.container import Completed, Sandbox
from tests.pages.conftest import DESKTOP, PHONE, keep_messages, messages, sign_in
from tests.pages.network_site import Site, egress, policy_kept, policy_of, put_policy, serve_site
from tests.pages.test_access import AXE, LOOKS, RUN
from tests.patience import until
from tests.refusals import assert_not_timed_out

PATHS = ("/", "/view", "/terminal", "/files", "/recorder", "/v1/docs", "/stream/", "/vnc/index.html")
NOTIFIED = """
window.told = [];
window.Notification = class {
    static permission = 'granted';
    constructor(title, { body }) { window.told.push([title, body]); }
};
Object.defineProperty(document, 'hidden', { get: () => true });
"""
"""A browser that allows notifications, and whose person looks elsewhere."""
SCROLL_WIDTH = "document.documentElement.scrollWidth"
ASKED_SECONDS = 120
"""How long a question waits: on a busy machine a page takes half a minute to load, or to be searched by axe-core."""
FETCH_SECONDS = 110
"""How long a program waits for an answer: a call that runs it may take no longer than `ASKED_SECONDS`."""


@pytest.fixture(scope="module")
def sandbox(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container whose owner gives people time."""
    return sandbox_with(env={"APPROVAL_SECONDS": str(ASKED_SECONDS)})


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_site() as found:
        yield found


@pytest.fixture(autouse=True)
def asks(sandbox: Sandbox, site: Site) -> Iterator[None]:
    """The policy asks about the site, and nothing is asked before and after."""
    with policy_kept(sandbox):
        ask_about(sandbox, site)
        yield
        for each in opened(sandbox):
            sandbox.request("DELETE", f"/v1/handoffs/{each['id']}")


def ask_about(sandbox: Sandbox, site: Site) -> None:
    """Have the policy ask about the site."""
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    put_policy(sandbox, {"name": "ask me", "action": "ask", "hosts": [site.host]})


def opened(sandbox: Sandbox) -> list[dict[str, Any]]:
    """What is asked now."""
    found: list[dict[str, Any]] = sandbox.request("GET", "/v1/handoffs").json()["data"]
    return [each for each in found if each["kind"] == "approve"]


@contextmanager
def task(sandbox: Sandbox, site: Site, path: str = "upload") -> Iterator[list[Completed]]:
    """A task that fetches from the site in the box, and what became of it once it has ended."""
    ended = list[Completed]()
    running = threading.Thread(target=lambda: ended.append(sandbox.run("curl", "-sSf", "-m", str(FETCH_SECONDS), site.url + path)))
    running.start()
    try:
        yield ended
    finally:
        running.join(ASKED_SECONDS)
    assert_not_timed_out("".join(each.stderr for each in ended))


def card_of(page: Page, site: Site) -> Locator:
    return page.locator(".approval:visible", has_text=site.host)


def shown(page: Page, sandbox: Sandbox, path: str) -> None:
    """Open a page, and wait until it follows what is asked."""
    page.goto(sandbox.base_url + path)
    expect(page.locator("#driver")).to_have_text("The agent drives")


def test_a_task_stops_at_an_ask_is_approved_on_a_phone_and_goes_on(phone: Page, sandbox: Sandbox, site: Site) -> None:
    shown(phone, sandbox, "/view")
    before = len(site.visits)
    with task(sandbox, site) as ended:
        card = card_of(phone, site)
        expect(card.locator(".reason")).to_contain_text(f"wants to reach {site.place}")
        expect(card.locator(".reason")).to_contain_text("curl")
        expect(card.locator(".left")).to_contain_text("if nobody answers")
        expect(card.locator(".facts").first).to_contain_text("ask me")
        expect(card.locator(".effects")).to_contain_text(f"to {site.place}")
        assert phone.evaluate(SCROLL_WIDTH) == PHONE["viewport"]["width"]
        for name in ("Allow for 5 min", "Allow for 4 h", "Always allow", "Deny"):
            expect(card.get_by_role("button", name=name)).to_be_in_viewport()
        assert (len(site.visits), ended) == (before, [])
        card.get_by_role("button", name="Allow for 5 min").tap()
        until(lambda: ended)
    assert (ended[0].code, ended[0].stdout) == (0, "<title>outside</title>you are outside")
    expect(phone.locator(".approval")).to_have_count(0)


def test_what_is_denied_ends_at_once_and_says_so(person: Page, sandbox: Sandbox, site: Site) -> None:
    shown(person, sandbox, "/view")
    keep_messages(person)
    before = len(site.visits)
    with task(sandbox, site) as ended:
        card_of(person, site).get_by_role("button", name="Deny").click()
        until(lambda: "Denied" in messages(person))
        until(lambda: ended)  # long before it would give up by itself
    assert ended[0].code != 0
    assert len(site.visits) == before


def test_allowed_for_the_task_is_not_asked_again(person: Page, sandbox: Sandbox, site: Site) -> None:
    shown(person, sandbox, "/")
    with task(sandbox, site) as ended:
        card_of(person, site).get_by_role("button", name="Allow for 4 h").click()
        until(lambda: ended)
    with task(sandbox, site) as again:
        until(lambda: again)
    assert [ended[0].code, again[0].code] == [0, 0]


def test_always_puts_a_rule_into_the_policy(person: Page, sandbox: Sandbox, site: Site) -> None:
    shown(person, sandbox, "/")
    with task(sandbox, site) as ended:
        card = card_of(person, site)
        card.get_by_role("button", name="Always allow").click()
        expect(card.locator(".written pre")).to_contain_text(f'"{site.host}"')
        assert (ended, policy_of(sandbox)["rules"][0]["action"]) == ([], "ask")  # what was seen is not saved yet
        card.get_by_role("button", name="Save this rule").click()
        until(lambda: ended)
    assert ended[0].code == 0
    first = policy_of(sandbox)["rules"][0]
    assert (first["action"], first["hosts"]) == ("allow", [site.host])


@pytest.mark.parametrize("path", PATHS)
def test_it_is_answered_with_one_click_on_every_page(person: Page, sandbox: Sandbox, site: Site, path: str) -> None:
    shown(person, sandbox, path)
    with task(sandbox, site) as ended:
        card = card_of(person, site)
        expect(card).to_have_count(1)
        card.get_by_role("button", name="Allow for 5 min").click()
        until(lambda: ended)
    assert ended[0].code == 0
    expect(person.locator(".approval:visible")).to_have_count(0)


def test_it_is_seen_at_home_wherever_one_has_scrolled_to(person: Page, sandbox: Sandbox, site: Site) -> None:
    shown(person, sandbox, "/")
    person.mouse.wheel(0, 5000)
    with task(sandbox, site) as ended:
        button = card_of(person, site).get_by_role("button", name="Allow for 5 min")
        expect(button).to_be_in_viewport()
        button.click()
        until(lambda: ended)


def test_what_was_answered_elsewhere_disappears_and_says_by_whom(browser: Browser, person: Page, sandbox: Sandbox, site: Site) -> None:
    shown(person, sandbox, "/view")
    keep_messages(person)
    with browser.new_context(**PHONE) as context:
        other = sign_in(context, sandbox)
        shown(other, sandbox, "/")
        with task(sandbox, site) as ended:
            expect(card_of(person, site)).to_be_visible()
            card_of(other, site).get_by_role("button", name="Allow for 5 min").tap()
            expect(person.locator(".approval")).to_have_count(0)
            until(lambda: any("answered: Allowed for 5 min" in told for told in messages(person)))
            until(lambda: ended)


def test_what_nobody_answers_is_denied_and_that_is_said(browser: Browser, start_sandbox: Callable[..., Sandbox], site: Site) -> None:
    hasty = start_sandbox()
    ask_about(hasty, site)
    with browser.new_context(**DESKTOP) as context:
        page = sign_in(context, hasty)
        shown(page, hasty, "/view")
        keep_messages(page)
        with task(hasty, site) as ended:
            expect(card_of(page, site)).to_be_visible()
            until(lambda: ended)
            denied = "It was denied: nobody answered in time."
            until(lambda: any(denied in told for told in messages(page)), told=lambda: f"It told {messages(page)}.")
        assert ended[0].code != 0
        expect(page.locator(".approval")).to_have_count(0)


def test_the_keyboard_goes_to_it_and_answers(person: Page, sandbox: Sandbox, site: Site) -> None:
    shown(person, sandbox, "/v1/docs")
    with task(sandbox, site) as ended:
        card = card_of(person, site)
        expect(card.get_by_role("button", name="Allow for 5 min")).to_be_enabled()
        person.keyboard.press("Control+Alt+a")
        expect(card.get_by_role("button", name="Allow for 5 min")).to_be_focused()
        for _ in range(3):
            person.keyboard.press("Tab")
        expect(card.get_by_role("button", name="Deny")).to_be_focused()
        person.keyboard.press("Enter")
        until(lambda: ended)
    assert ended[0].code != 0


def test_what_the_agent_writes_is_plain_text_that_hides_nothing(phone: Page, sandbox: Sandbox, site: Site) -> None:
    shown(phone, sandbox, "/view")
    reason = "<b>Press Allow</b> \u202egnp.exe " + "W" * 250
    egress(sandbox, "POST", "requests", json={"host": "api.example.com", "port": 443, "reason": reason})
    card = phone.locator(".approval", has_text="api.example.com")
    expect(card.locator(".reason")).to_have_text("The agent wants to reach api.example.com:443")
    expect(card.locator(".words")).to_contain_text("<b>Press Allow</b>")
    assert card.locator("b, img").count() == 0
    assert "\u202e" not in card.inner_text()
    assert phone.evaluate(SCROLL_WIDTH) == PHONE["viewport"]["width"]
    card.get_by_role("button", name="Deny").tap()
    until(lambda: not opened(sandbox))


def test_a_notification_says_what_wants_what(browser: Browser, sandbox: Sandbox, site: Site) -> None:
    with browser.new_context(**DESKTOP) as context:
        context.add_init_script(NOTIFIED)
        page = sign_in(context, sandbox)
        shown(page, sandbox, "/terminal")
        with task(sandbox, site) as ended:
            until(lambda: page.evaluate("window.told.length") == 1)
            [[title, body]] = page.evaluate("window.told")
            assert title == "The agent asks you to allow something"
            assert site.place in body
            expect(page).to_have_title("(1) Terminal · Tandem")
            card_of(page, site).get_by_role("button", name="Deny").click()
            until(lambda: ended)


def test_it_speaks_chinese(person: Page, sandbox: Sandbox, site: Site) -> None:
    person.goto(f"{sandbox.base_url}/view?lang=zh")
    expect(person.locator("#driver")).to_have_text("智能体正在操作")
    keep_messages(person)
    with task(sandbox, site) as ended:
        card = card_of(person, site)
        expect(card.locator("h2")).to_have_text("智能体请你批准一项操作")
        expect(card.locator(".reason")).to_contain_text("想要")
        card.get_by_role("button", name="允许 5 分钟").click()
        until(lambda: "已允许 5 分钟" in messages(person))
        until(lambda: ended)


def test_who_may_only_watch_sees_it_and_answers_nothing(browser: Browser, sandbox: Sandbox, site: Site) -> None:
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": ["view"]}).json()["ticket"]
    with browser.new_context(**DESKTOP) as context, task(sandbox, site) as ended:
        page = context.new_page()
        page.goto(f"{sandbox.base_url}/view?ticket={ticket}")
        card = card_of(page, site)
        expect(card).to_contain_text("You are watching only: somebody else answers.")
        expect(card.get_by_role("button")).to_have_count(0)
        asked = opened(sandbox)[0]["id"]
        assert page.evaluate(f"fetch('/v1/handoffs/{asked}/answer', {{method: 'POST', body: '{{}}'}}).then(({{ status }}) => status)") in (
            403,
            422,
        )
        sandbox.request("DELETE", f"/v1/handoffs/{asked}")
        until(lambda: ended)


@pytest.mark.parametrize("path", ["/view", "/v1/docs"])
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(browser: Browser, sandbox: Sandbox, site: Site, look: str, path: str) -> None:
    with browser.new_context(**LOOKS[look], bypass_csp=True) as context:
        page = sign_in(context, sandbox)
        shown(page, sandbox, path)
        page.evaluate(AXE.read_text("utf-8"))
        with task(sandbox, site) as ended:
            expect(card_of(page, site)).to_be_visible()
            assert page.evaluate(RUN) == []
            card_of(page, site).get_by_role("button", name="Deny").click()
            until(lambda: ended)


def test_the_recorder_tells_what_was_asked_and_how_it_was_answered(person: Page, sandbox: Sandbox, site: Site) -> None:
    shown(person, sandbox, "/view")
    with task(sandbox, site) as ended:
        card_of(person, site).get_by_role("button", name="Allow for 5 min").click()
        until(lambda: ended)
    person.goto(f"{sandbox.base_url}/recorder")
    entry = person.locator("#list .row > button", has_text=f"asked to reach {site.place}").first
    expect(entry).to_contain_text("answered Allow once")
