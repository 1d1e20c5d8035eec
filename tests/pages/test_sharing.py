"""Letting others in, and what they are called; driving together; who watches, on a desktop and on a phone."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.pages.conftest import DESKTOP, PHONE, keep_messages, messages, sign_in
from tests.patience import until

SCROLL_WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture(autouse=True)
def left_as_it_was(sandbox: Sandbox) -> Iterator[None]:
    """Nobody drives, and no invitation is open, before and after."""
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    yield
    person = Person(sandbox)
    for each in person.ask("GET", "/v1/invitations").json()["data"]:
        person.ask("DELETE", f"/v1/invitations/{each['id']}")
    if sandbox.request("GET", "/v1/control").json()["data"]["state"] != "agent":
        person.control("take")
        person.control("release")


def live(page: Page, sandbox: Sandbox) -> None:
    page.goto(f"{sandbox.base_url}/view")
    page.locator("main[data-picture=connected]").wait_for()


def invitation(page: Page, **fields: str) -> str:
    """Make an invitation in the dialog; its link."""
    page.locator("#bar-invite-open").click()
    dialog = page.get_by_role("dialog", name="Invite")
    for label, value in fields.items():
        field = dialog.get_by_label(label.replace("_", " "))
        if field.evaluate("field => field.localName") == "select":
            field.select_option(label=value)
        else:
            field.fill(value)
    dialog.get_by_role("button", name="Make a link and copy it").click()
    expect(page.locator("#bar-link")).to_have_value(re.compile("/join#ticket=tk-"))
    return page.locator("#bar-link").input_value()


def close(page: Page) -> None:
    page.get_by_role("dialog", name="Invite").get_by_role("button", name="Close").click()


@contextmanager
def guest_by(browser: Browser, link: str, name: str = "", **context: Any) -> Iterator[Page]:
    """The page of a guest who came by a link."""
    with browser.new_context(**(DESKTOP | context)) as made:
        page = made.new_page()
        page.goto(link)
        if name:
            page.get_by_label("Your name").fill(name)
        page.get_by_role("button", name="Join").click()
        page.locator("main[data-picture=connected]").wait_for()
        yield page


def viewers(page: Page) -> Locator:
    page.locator("#viewers").click()
    return page.locator("#bar-viewers li")


def test_a_guest_says_a_name_watches_and_is_called_by_it_everywhere(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    link = invitation(person, Access="Can watch")
    close(person)
    with guest_by(browser, link, "Mia Sol") as guest:
        assert guest.url == f"{sandbox.base_url}/view", "neither the ticket nor the name is left in the address"
        expect(viewers(person).filter(has_text="Mia Sol (guest)")).to_contain_text("Can watch")
        names = [each["name"] for each in sandbox.request("GET", "/v1/control").json()["data"]["viewers"]]
        assert any(name.startswith("guest:Mia%20Sol#") for name in names)
        expect(guest.locator("#caller")).to_have_text("Mia Sol (guest)")


def test_a_guest_who_watches_is_told_so_by_a_click_and_is_offered_nothing_else(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    with guest_by(browser, invitation(person), "Mia") as guest:
        keep_messages(guest)
        guest.locator("#screen").click()
        until(lambda: "You are watching only." in messages(guest))
        expect(guest.get_by_text("View only")).to_be_visible()
        for name in ("Take control", "Invite", "Pause agent", "Drive together", "Private"):
            expect(guest.get_by_role("button", name=name)).to_have_count(0)
        assert sandbox.request("GET", "/v1/control").json()["data"]["state"] == "agent"


def test_a_guest_who_may_control_drives_under_the_name_that_the_inviter_gave(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    link = invitation(person, Access="Can control", Name_of_the_guest="Bo", Expires_in="10 minutes", **{"Max. uses": "5"})
    expect(person.locator("#invite-list li")).to_contain_text("Bo")
    expect(person.locator("#invite-list li")).to_contain_text("Can control · 5 of 5 left")
    close(person)
    with guest_by(browser, link) as guest:
        guest.get_by_role("button", name="Take control").click()
        expect(guest.locator("#driver")).to_have_text("You drive")
        expect(person.locator("#driver")).to_have_text("Bo (guest) drives")
        guest.get_by_role("button", name="Hand back to agent").click()
        expect(person.locator("#driver")).to_have_text("The agent drives")


def test_an_invitation_is_revoked_and_its_link_says_so(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    link = invitation(person)
    person.locator("#invite-list").get_by_role("button", name="Revoke: Any guest").click()
    expect(person.locator("#invite-told")).to_have_text("Revoked: the link lets nobody in any more.")
    expect(person.locator("#invite-list li")).to_have_count(0)
    with browser.new_context(locale="en-US") as context:
        page = context.new_page()
        page.goto(link)
        page.get_by_label("Your name").fill("Mia")
        page.get_by_role("button", name="Join").click()
        expect(page.get_by_role("alert").filter(has_text="This link was already used, or has expired.")).to_be_visible()


def test_looking_at_a_link_does_not_use_it_up(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    link = invitation(person)
    for _ in range(3):
        assert sandbox.http.get(link, headers={"Accept": "text/html"}).status_code == 200
    with browser.new_context() as context:
        context.new_page().goto(link)
    with guest_by(browser, link, "Mia"):
        pass


def test_an_invitation_is_made_on_any_page_and_a_used_one_is_listed_no_more(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    person.goto(f"{sandbox.base_url}/v1/docs")
    expect(person.locator("#driver")).to_have_text("The agent drives")
    link = invitation(person)
    close(person)
    with guest_by(browser, link, "Mia"):
        person.locator("#bar-invite-open").click()
        expect(person.locator("#invite-list li")).to_have_count(0)


def test_a_guest_joins_and_watches_in_chinese_on_a_phone(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    link = invitation(person)
    with browser.new_context(**PHONE | {"locale": "zh-CN"}) as context:
        page = context.new_page()
        page.goto(link)
        page.get_by_label("你的名字").fill("张伟")
        assert page.evaluate(SCROLL_WIDTH) == 390
        page.get_by_role("button", name="加入").click()
        page.locator("main[data-picture=connected]").wait_for()
        keep_messages(page)
        page.locator("#screen").click()
        until(lambda: "你只能观看。" in messages(page))
        close(person)
        expect(viewers(person).filter(has_text="张伟 (guest)")).to_be_visible()


def test_driving_together_has_its_own_words(browser: Browser, person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    expect(person.get_by_role("button", name="Share", exact=True)).to_have_count(0)
    person.get_by_role("button", name="Take control").click()
    person.get_by_role("button", name="Drive together").click()
    expect(person.locator("#driver")).to_have_text("Shared control")
    person.get_by_role("button", name="Stop driving together").click()
    expect(person.locator("#driver")).to_have_text("The agent drives")


@pytest.mark.parametrize("width", [390, 360])
def test_four_who_watch_do_not_widen_a_phone(browser: Browser, sandbox: Sandbox, width: int) -> None:
    with ExitStack() as stack:
        pages = [sign_in(stack.enter_context(browser.new_context(**DESKTOP)), sandbox) for _ in range(3)]
        context = stack.enter_context(browser.new_context(**PHONE | {"viewport": {"width": width, "height": 800}}))
        phone = sign_in(context, sandbox)
        live(phone, sandbox)
        for page in pages:
            page.goto(f"{sandbox.base_url}/v1/docs")
            expect(page.locator("#driver")).to_have_text("The agent drives")
        expect(phone.locator("#viewers-count")).to_have_text("4")
        expect(phone.locator("#viewers")).to_have_accessible_name(re.compile("^4 watching: "))
        assert phone.evaluate(SCROLL_WIDTH) == width
        expect(viewers(phone)).to_have_count(4)
        phone.locator("#people-invite").click()
        expect(phone.get_by_role("dialog", name="Invite")).to_be_in_viewport()
        assert phone.evaluate(SCROLL_WIDTH) == width


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_line_of_private_mode_covers_nothing_of_the_picture(browser: Browser, sandbox: Sandbox, size: dict[str, Any]) -> None:
    with browser.new_context(**size) as context:
        page = sign_in(context, sandbox)
        live(page, sandbox)
        page.get_by_role("button", name="Private", exact=True).click()
        line = page.locator("#private")
        expect(line).to_contain_text("only you see the screen")
        above, picture = line.bounding_box(), page.locator("main").bounding_box()
        assert above
        assert picture
        assert above["y"] + above["height"] <= picture["y"] + 1
        page.get_by_role("button", name="End private").click()
        expect(line).to_be_hidden()


def test_a_message_is_gone_with_the_next_state_and_covers_nothing(person: Page, sandbox: Sandbox) -> None:
    live(person, sandbox)
    person.clock.install()
    person.get_by_role("button", name="Private", exact=True).click()
    person.get_by_role("button", name="End private").click()
    message = person.get_by_text("Private mode is off.", exact=True)
    expect(message).to_be_visible()
    box, picture = message.bounding_box(), person.locator("main").bounding_box()
    assert box
    assert picture
    assert box["y"] >= picture["y"] + picture["height"] - 1, "it is beside the picture"
    person.get_by_role("button", name="Hand back to agent").click()
    expect(person.locator("#driver")).to_have_text("The agent drives")
    expect(message).to_have_count(0)
