"""Links and addresses that lead nowhere: each says so in the design, with a way on."""

import re
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP, sign_in
from tests.patience import until

USED = "This link was already used, or has expired. Ask for a new one."
DESIGNED = "getComputedStyle(document.querySelector('main')).borderRadius"
FAMILY = "getComputedStyle(document.body).fontFamily"


def ticket(sandbox: Sandbox, **more: object) -> str:
    body = {"actor": "person", "scopes": ["view"]} | more
    return str(sandbox.request("POST", "/tickets", json=body).json()["ticket"])


@pytest.mark.parametrize("path", ["/", "/view", "/stream/"])
def test_a_link_that_was_used_says_so(browser: Browser, sandbox: Sandbox, path: str) -> None:
    link = f"{sandbox.base_url}{path}?ticket={ticket(sandbox)}"
    for used in (False, True):
        with browser.new_context(**DESKTOP, locale="en-US") as context:
            page = context.new_page()
            page.goto(link)
            if used:
                expect(page.get_by_role("alert")).to_have_text(USED)
            else:
                expect(page.locator("#navigation a").first).to_be_visible()


def test_a_link_that_has_expired_says_so(browser: Browser, sandbox: Sandbox) -> None:
    made, expired = time.monotonic(), ticket(sandbox, ttl=0.2)
    until(lambda: time.monotonic() - made > 1)
    with browser.new_context(**DESKTOP, locale="zh-CN") as context:
        page = context.new_page()
        page.goto(f"{sandbox.base_url}/view?ticket={expired}")
        expect(page.get_by_role("alert")).to_contain_text("此链接已被使用或已过期")


def test_an_address_where_nothing_is_has_a_page_with_a_way_home(person: Page, sandbox: Sandbox) -> None:
    failed = list[str]()
    person.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    answer = person.goto(f"{sandbox.base_url}/nosuchpage")
    assert answer is not None
    assert answer.status == 404
    expect(person.get_by_role("heading", name="Page not found")).to_be_visible()
    assert (person.evaluate(DESIGNED), "system-ui" in person.evaluate(FAMILY)) == ("10px", True)
    person.get_by_role("link", name="Home", exact=True).click()
    expect(person.locator("#driver")).to_be_visible()
    assert [url for url in failed if not url.endswith("/nosuchpage")] == []


def test_a_preview_that_nobody_is_signed_in_to_is_designed_and_says_where_to_go(browser: Browser, sandbox: Sandbox) -> None:
    for locale, says in (
        ("en-US", "Open this preview again from the home page of the sandbox"),
        ("zh-CN", "请从你已登录的沙箱首页重新打开此预览"),
    ):
        with browser.new_context(**DESKTOP, locale=locale, extra_http_headers={"x-aio-proxy-port": "3000"}) as context:
            page = context.new_page()
            answer = page.goto(f"{sandbox.base_url}/")
            assert answer is not None
            assert answer.status == 401
            expect(page.locator("main")).to_contain_text(says)
            assert (page.evaluate(DESIGNED), "system-ui" in page.evaluate(FAMILY)) == ("10px", True)
            expect(page.locator("link[rel=icon]")).to_have_attribute("href", "data:,")


def test_a_browser_gets_the_icon_without_signing_in(sandbox: Sandbox) -> None:
    icon = sandbox.http.get(f"{sandbox.base_url}/favicon.ico", follow_redirects=True)
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")


def test_a_wrong_key_is_called_one_by_the_api_and_at_the_sign_in_page(browser: Browser, sandbox: Sandbox) -> None:
    answer = sandbox.http.get(f"{sandbox.base_url}/v1/sandbox", headers={"Authorization": "Bearer nonsense"})
    assert answer.status_code == 401
    assert re.match("wrong key", answer.json()["message"])
    with browser.new_context(**DESKTOP, locale="en-US") as context:
        page = context.new_page()
        page.goto(sandbox.base_url)
        page.get_by_label("API key or token").fill("nonsense")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#problem")).to_have_text("Wrong key.")


def test_vnc_is_covered_while_another_person_is_private(browser: Browser, sandbox: Sandbox) -> None:
    with browser.new_context(**DESKTOP, locale="en-US") as mine, browser.new_context(**DESKTOP, locale="en-US") as other:
        person, watcher = sign_in(mine, sandbox), sign_in(other, sandbox)
        refused = list[str]()
        watcher.on("console", lambda said: refused.append(said.text) if "423" in said.text else None)
        watcher.goto(f"{sandbox.base_url}/vnc/index.html")
        watcher.locator("body[data-state=connected]").wait_for()
        person.goto(f"{sandbox.base_url}/view")
        person.get_by_role("button", name="Take control").click()
        try:
            person.get_by_role("button", name="Private", exact=True).click()
            expect(watcher.locator("#notice h2")).to_have_text("Private")
            expect(watcher.locator("#notice p")).to_contain_text("has hidden the screen for a moment.")
            expect(watcher.locator("canvas")).to_have_count(0)
            person.get_by_role("button", name="End private").click()
            watcher.locator("canvas").wait_for()
            expect(watcher.locator("#notice")).to_be_hidden()
            assert refused == []
        finally:
            person.evaluate("fetch('/v1/control/release', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})")
