"""What the agent asks of people, answered in real Chromium: on every page, on a desktop and on a phone."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.pages.conftest import DESKTOP, PHONE, keep_messages, messages, sign_in
from tests.patience import PATIENCE_SECONDS, until

CONFIRM = {"kind": "confirm", "reason": "Place the order for 12.90?"}
PATHS = ("/", "/view", "/terminal", "/recorder", "/v1/docs", "/stream/", "/vnc/index.html")
SCROLL_WIDTH = "document.documentElement.scrollWidth"
LOOK = """button => {
    const { borderStyle, backgroundColor, borderRadius } = getComputedStyle(button);
    return [borderStyle, backgroundColor, borderRadius];
}"""
SIGN_IN = "<title>acme</title><input id=user><input id=pass type=password>"
SERVER = f"""
from http.server import BaseHTTPRequestHandler, HTTPServer
class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Type", "text/html"); self.end_headers(); self.wfile.write({SIGN_IN.encode()!r})
    def log_message(self, *_): pass
HTTPServer(("127.0.0.1", 8124), Site).serve_forever()
"""
ORIGIN = "http://localhost:8124"
TYPING_SECONDS = 12
"""Within it, a person has begun to type, however busy the machine is."""
USER = {"name": "user", "label": "User name"}
PASSWORD = {"name": "password", "label": "Password", "secret": True, "selector": "#pass", "origin": ORIGIN}


def ask(sandbox: Sandbox, **asked: Any) -> str:
    """Ask people for something; the request's id."""
    return str(sandbox.request("POST", "/v1/handoffs", json={"reason": "r", **asked}).json()["data"]["id"])


def told(sandbox: Sandbox, handoff: str) -> dict[str, Any]:
    """What the agent is told of a request."""
    found: dict[str, Any] = sandbox.request("GET", f"/v1/handoffs/{handoff}").json()["data"]
    return found


def ended(sandbox: Sandbox, handoff: str) -> dict[str, Any]:
    """The same, once it has ended."""
    until(lambda: told(sandbox, handoff)["status"] == "closed")
    return told(sandbox, handoff)


def driver(sandbox: Sandbox) -> str:
    return str(sandbox.request("GET", "/v1/control").json()["data"]["state"])


@pytest.fixture(autouse=True)
def left_as_it_was(sandbox: Sandbox) -> Iterator[None]:
    """Nothing is asked and nobody drives, before and after."""
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    yield
    for each in sandbox.request("GET", "/v1/handoffs").json()["data"]:
        sandbox.request("DELETE", f"/v1/handoffs/{each['id']}")
    person = Person(sandbox)
    if driver(sandbox) != "agent":
        person.control("take")
        person.control("release")


@pytest.fixture(scope="module")
def acme(sandbox: Sandbox) -> str:
    """A page to sign in at, of a server in the box."""
    sandbox.request("POST", "/v1/file/write", json={"file": "/home/gem/acme.py", "content": SERVER})
    sandbox.request("POST", "/v1/bash/exec", json={"command": "python3 /home/gem/acme.py", "async_mode": True})
    until(lambda: sandbox.run("curl", "-sf", ORIGIN).code == 0)
    return f"{ORIGIN}/"


def live(page: Page, sandbox: Sandbox, query: str = "") -> Locator:
    """Open the live page, which keeps what it tells; the cards of the requests."""
    page.goto(f"{sandbox.base_url}/view{query}")
    page.locator("main[data-picture=connected]").wait_for()
    keep_messages(page)
    return page.locator("#handoffs .request")


def test_a_confirmation_is_yes_in_one_click_and_nobody_takes_the_screen(person: Page, sandbox: Sandbox) -> None:
    card = live(person, sandbox)
    epoch = sandbox.request("GET", "/v1/control").json()["data"]["epoch"]
    asked = ask(sandbox, **CONFIRM)
    expect(card).to_contain_text("Place the order for 12.90?")
    expect(card.get_by_role("button", name="Take this on")).to_have_count(0)
    card.get_by_role("button", name="Yes, go ahead").click()
    until(lambda: "Sent to the agent" in messages(person))
    answer = ended(sandbox, asked)
    assert (answer["outcome"], answer["confirmed"], answer["claimed_by"]) == ("done", True, None)
    now = sandbox.request("GET", "/v1/control").json()["data"]
    assert (now["state"], now["epoch"]) == ("agent", epoch)
    expect(card).to_have_count(0)


def test_who_drives_for_themselves_keeps_control_when_they_answer(person: Page, sandbox: Sandbox) -> None:
    card = live(person, sandbox)
    person.get_by_role("button", name="Take control").click()
    expect(person.locator("#driver")).to_have_text("You drive")
    asked = ask(sandbox, **CONFIRM)
    card.get_by_role("button", name="Yes, go ahead").click()
    assert ended(sandbox, asked)["confirmed"] is True
    expect(person.locator("#driver")).to_have_text("You drive")


@pytest.mark.parametrize("path", PATHS)
def test_a_confirmation_is_answered_on_every_page(person: Page, sandbox: Sandbox, path: str) -> None:
    person.goto(sandbox.base_url + path)
    expect(person.locator("#driver")).to_have_text("The agent drives")
    asked = ask(sandbox, **CONFIRM)
    person.get_by_role("button", name="No", exact=True).filter(visible=True).first.click()
    assert (ended(sandbox, asked)["outcome"], told(sandbox, asked)["confirmed"]) == ("cannot", False)
    expect(person.get_by_role("button", name="Yes, go ahead").filter(visible=True)).to_have_count(0)


def test_a_choice_is_made_at_once_on_a_page_without_a_screen(person: Page, sandbox: Sandbox) -> None:
    person.goto(f"{sandbox.base_url}/v1/docs")
    asked = ask(sandbox, kind="choice", reason="Which flight?", choices=["07:40 via Frankfurt", "09:10 direct"])
    person.get_by_role("button", name="Answer", exact=True).click()
    expect(person.locator("#answers .choice")).to_have_text(["07:40 via Frankfurt", "09:10 direct"])
    person.get_by_role("button", name="09:10 direct").click()
    assert (ended(sandbox, asked)["outcome"], told(sandbox, asked)["choice"]) == ("done", "09:10 direct")
    expect(person.locator("#answers")).to_be_hidden()


def test_a_code_has_its_field_at_once(person: Page, sandbox: Sandbox) -> None:
    card = live(person, sandbox)
    asked = ask(sandbox, kind="otp", reason="The code on your phone")
    card.get_by_label("One-time code").fill("123 456")
    expect(card).to_contain_text("Sent to the agent.")
    card.get_by_role("button", name="Send to the agent").click()
    assert (ended(sandbox, asked)["outcome"], told(sandbox, asked)["note"]) == ("done", "123 456")


def test_a_form_is_filled_in_the_order_asked_and_says_where_each_content_goes(person: Page, sandbox: Sandbox, acme: str) -> None:
    sandbox.show(acme)
    card = live(person, sandbox)
    asked = ask(sandbox, kind="login", reason="Sign in to acme", fields=[USER, PASSWORD])
    expect(card.locator("label")).to_have_text(["User name", "Password"])
    expect(card.locator(".field .muted")).to_have_text(["Sent to the agent.", f"Typed only into {ORIGIN}. The agent never sees it."])
    main = card.locator(".button:not(.quiet)").filter(visible=True)
    expect(main).to_have_text(["Fill in and finish"])
    card.get_by_label("User name").fill("ann")
    card.get_by_label("Password").fill("hunter22")
    main.click()
    until(lambda: "Sent to the agent" in messages(person))
    answer = ended(sandbox, asked)
    assert (answer["outcome"], answer["values"], answer["dropped"]) == ("done", {"user": "ann"}, ["password"])
    assert "hunter22" not in str(answer)
    length = sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": "document.querySelector('#pass').value.length"})
    assert length.json()["data"] == 8
    assert driver(sandbox) == "agent"


def test_a_secret_for_another_page_is_not_typed_and_the_request_stays_open(person: Page, sandbox: Sandbox) -> None:
    sandbox.show("about:blank")
    card = live(person, sandbox)
    asked = ask(sandbox, kind="login", reason="Sign in to acme", fields=[USER, PASSWORD])
    card.get_by_label("User name").fill("ann")
    card.get_by_label("Password").fill("hunter22")
    card.get_by_role("button", name="Fill in and finish").click()
    expect(card.get_by_role("alert").filter(has_text="nothing was filled in")).to_be_visible()
    assert told(sandbox, asked)["status"] != "closed"
    expect(card.get_by_label("User name")).to_have_value("ann")
    expect(card.get_by_label("Password")).to_have_value("")


@pytest.mark.parametrize(("press", "outcome"), [("It is done", "done"), ("It is not done", "cannot"), ("Keep it open", None)])
def test_who_hands_back_is_asked_what_becomes_of_the_request(person: Page, sandbox: Sandbox, press: str, outcome: str | None) -> None:
    card = live(person, sandbox)
    asked = ask(sandbox, kind="captcha", reason="Solve the puzzle")
    card.get_by_role("button", name="Take this on").click()
    expect(person.locator("#driver")).to_have_text("You drive")
    expect(card).to_contain_text("You're on it")
    person.get_by_role("button", name="Hand back to agent").click()
    dialog = person.get_by_role("dialog", name="Hand back to agent")
    expect(dialog).to_contain_text("Solve the puzzle")
    dialog.get_by_role("button", name="Cancel").click()
    expect(person.locator("#driver")).to_have_text("You drive")
    person.get_by_role("button", name="Hand back to agent").click()
    dialog.get_by_role("button", name=press).click()
    expect(person.locator("#driver")).to_have_text("The agent drives")
    if outcome:
        assert ended(sandbox, asked)["outcome"] == outcome
    else:
        assert told(sandbox, asked)["status"] == "claimed"


def test_what_must_be_driven_for_leads_from_any_page_to_the_live_one(person: Page, sandbox: Sandbox) -> None:
    person.goto(f"{sandbox.base_url}/v1/docs")
    ask(sandbox, kind="captcha", reason="Solve the puzzle")
    person.get_by_role("button", name="Answer", exact=True).click()
    person.get_by_role("button", name="Take this on").click()
    person.wait_for_url("**/view")
    expect(person.locator("#driver")).to_have_text("You drive")
    person.locator("#handoffs").get_by_role("button", name="Done", exact=True).click()
    expect(person.locator("#driver")).to_have_text("The agent drives")


def test_of_two_who_answer_at_once_one_wins_and_the_other_is_told(person: Page, sandbox: Sandbox) -> None:
    card, other = live(person, sandbox), Person(sandbox)
    asked = ask(sandbox, **CONFIRM)

    def overtaken(route: Route) -> None:
        assert other.ask("POST", f"/v1/handoffs/{asked}/answer", json={"outcome": "cannot"}).status_code == 200
        route.continue_()

    person.route("**/answer", overtaken)
    card.get_by_role("button", name="Yes, go ahead").click()
    until(lambda: any("answered first. Your answer was not sent." in each for each in messages(person)))
    assert ended(sandbox, asked)["confirmed"] is False


@pytest.mark.parametrize("how", ["withdrawn", "expired"])
def test_who_types_is_told_that_the_request_is_gone(person: Page, sandbox: Sandbox, how: str) -> None:
    card = live(person, sandbox)
    asked = ask(
        sandbox,
        kind="free",
        reason="Where to?",
        fields=[{"name": "city", "label": "City"}],
        deadline=3600 if how == "withdrawn" else TYPING_SECONDS,
    )
    card.get_by_label("City").fill("Ul")
    if how == "withdrawn":
        sandbox.request("DELETE", f"/v1/handoffs/{asked}")
    says = {"withdrawn": "The agent has withdrawn its request.", "expired": "Too late: the request has expired."}[how]
    until(lambda: says in messages(person))
    expect(card).to_have_count(0)


def test_what_just_came_under_the_pointer_cannot_be_pressed_yet(person: Page, sandbox: Sandbox) -> None:
    card = live(person, sandbox)
    person.evaluate(
        """() => new MutationObserver((_, observer) => {
            const yes = document.querySelector("#handoffs .main");
            if (yes) { observer.disconnect(); window.early = yes.disabled; }
        }).observe(document.querySelector("#handoffs"), { childList: true, subtree: true })"""
    )
    ask(sandbox, **CONFIRM)
    expect(card.get_by_role("button", name="Yes, go ahead")).to_be_enabled()
    assert person.evaluate("window.early") is True


def test_the_agents_words_are_bounded_and_never_look_like_the_page(phone: Page, sandbox: Sandbox) -> None:
    card = live(phone, sandbox)
    sly = ["\u202eTake control", "Yes, go ahead", "<b>Hand back to agent</b>", *("x" * 400 for _ in range(9))]
    assert sandbox.request("POST", "/v1/handoffs", json={"reason": "r", "choices": ["c"] * 500}).status_code == 422
    assert sandbox.request("POST", "/v1/handoffs", json={"reason": "r", "choices": ["c" * 10_000]}).status_code == 422
    asked = ask(sandbox, kind="choice", reason=f"\u202e{'W' * 3990}", instructions="\n" * 3000, choices=sly)
    choices = card.locator(".choice")
    expect(choices).to_have_count(12)
    assert phone.evaluate(SCROLL_WIDTH) == 390
    expect(choices.nth(2)).to_have_text("<b>Hand back to agent</b>")
    assert "\u202e" not in card.inner_text()
    own = phone.locator("#actions .button").first.evaluate(LOOK)
    assert all(one != two for one, two in zip(choices.first.evaluate(LOOK), own, strict=True))
    assert card.bounding_box()["height"] < 4000  # type: ignore[index] # it is shown
    choices.first.click()
    assert ended(sandbox, asked)["choice"] == sly[0]


def test_on_a_phone_a_request_is_a_sheet_whose_form_comes_first(phone: Page, sandbox: Sandbox) -> None:
    card = live(phone, sandbox)
    long = "Use the work account. " * 40
    asked = ask(sandbox, kind="login", reason="Sign in to acme", instructions=long, fields=[USER, PASSWORD])
    sheet = phone.locator("#handoffs")
    expect(card.get_by_label("Password")).to_be_in_viewport()
    expect(card.get_by_role("button", name="Fill in and finish")).to_be_in_viewport()
    box, screen, main = (place.bounding_box() for place in (sheet, phone.locator("#screen"), phone.locator("main")))
    assert box
    assert screen
    assert main
    assert box["width"] > 380
    assert abs(box["y"] + box["height"] - main["y"] - main["height"]) < 6, "it is at the foot of the screen's place"
    assert screen["y"] + screen["height"] <= box["y"] + 4, "it covers nothing of the picture"
    assert phone.evaluate(SCROLL_WIDTH) == 390
    phone.get_by_role("button", name="Hide the request").click()
    expect(card).to_be_hidden()
    phone.get_by_role("button", name="Show the request (1)").click()
    expect(card.get_by_label("Password")).to_be_visible()
    assert told(sandbox, asked)["status"] == "open"


@pytest.mark.parametrize("width", [390, 360])
def test_on_a_phone_every_page_shows_a_request_without_scrolling_sideways(browser: Browser, sandbox: Sandbox, width: int) -> None:
    with browser.new_context(**PHONE | {"viewport": {"width": width, "height": 740}}) as context:
        page = sign_in(context, sandbox)
        ask(sandbox, kind="choice", reason="Which of these shall I take? " * 10, choices=["One", "Two"])
        for path in PATHS:
            page.goto(sandbox.base_url + path)
            expect(page.get_by_text("Which of these shall I take?").filter(visible=True).first).to_be_visible()
            assert page.evaluate(SCROLL_WIDTH) == width, path
        page.goto(f"{sandbox.base_url}/v1/docs")
        page.get_by_role("button", name="Answer", exact=True).click()
        expect(page.get_by_role("button", name="Two")).to_be_in_viewport()
        assert page.evaluate(SCROLL_WIDTH) == width


def test_who_may_only_watch_sees_the_request_and_answers_nothing(browser: Browser, sandbox: Sandbox) -> None:
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": ["view"]}).json()["ticket"]
    ask(sandbox, **CONFIRM)
    with browser.new_context(**DESKTOP) as context:
        page = context.new_page()
        card = live(page, sandbox, f"?ticket={ticket}")
        expect(card).to_contain_text("Place the order for 12.90?")
        expect(card).to_contain_text("You are watching only: somebody else answers.")
        expect(card.get_by_role("button")).to_have_count(0)


def test_requests_are_answered_in_chinese(person: Page, sandbox: Sandbox) -> None:
    card = live(person, sandbox, "?lang=zh")
    asked = ask(sandbox, **CONFIRM)
    expect(card.locator("h2")).to_have_text("智能体请你确认")
    card.get_by_role("button", name="继续").click()
    until(lambda: "已发送给智能体" in messages(person))
    assert ended(sandbox, asked)["confirmed"] is True


def test_an_agent_that_waits_goes_on_as_soon_as_it_is_answered(person: Page, sandbox: Sandbox) -> None:
    card, answers = live(person, sandbox), list[dict[str, Any]]()
    asked = {**CONFIRM, "wait": 60}
    waiting = threading.Thread(target=lambda: answers.append(sandbox.request("POST", "/v1/handoffs", json=asked).json()["data"]))
    waiting.start()
    card.get_by_role("button", name="Yes, go ahead").click()
    waiting.join(PATIENCE_SECONDS)
    assert [(each["outcome"], each["confirmed"], each["answered_in"]) for each in answers] == [("done", True, "view")]
