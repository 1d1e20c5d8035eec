"""The editors, as who opens one for the first time sees it."""

from playwright.sync_api import Browser, expect

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP
from tests.patience import until


def test_code_server_opens_on_the_files_without_a_chat_that_nothing_answers(browser: Browser, sandbox: Sandbox) -> None:
    sandbox.run("sh", "-c", "mkdir -p ~/.cache && echo hello >~/notes.txt")
    sandbox.request("POST", "/v1/editors/code-server/start").raise_for_status()
    until(lambda: sandbox.request("GET", "/code-server/").status_code < 400)

    with browser.new_context(**DESKTOP, extra_http_headers=sandbox.headers) as context:
        page = context.new_page()
        page.goto(f"{sandbox.base_url}/code-server/")
        explorer = page.get_by_role("tree", name="Files Explorer")

        expect(explorer.get_by_text("notes.txt")).to_be_visible()
        expect(page).to_have_title("gem - Tandem")
        expect(explorer.get_by_text(".cache")).to_have_count(0)
        expect(page.get_by_text("Build with Agent")).to_have_count(0)
        expect(page.get_by_text("Describe what to build")).to_have_count(0)
        expect(page.get_by_role("tab", name="Welcome")).to_have_count(0)
