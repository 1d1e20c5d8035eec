import pytest

from sandbox_server.features.browser.page.page_operation import Acting, invalid, milliseconds
from sandbox_server.features.browser.page.reading import FindTextRequest, HtmlRequest, PageScreenshotRequest
from sandbox_server.features.browser.page.waiting import WaitRequest
from sandbox_server.features.browser.tools.reading import ScreenshotCall
from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_a_tab_is_named_by_its_place(pages: Pages) -> None:
    await pages.visit("/form")
    await pages("POST tabs", url=f"{pages.web}/article")
    missing = await pages.fails("GET page/text", tab=9)

    assert "Your name" in await pages("GET page/text", tab=0)
    assert (missing.status, missing.message) == (404, "there is no tab 9; there are 2")
    assert "tab" in await pages.refuses("GET page/text", tab=-1)


@pytest.mark.slow
async def test_fifty_tabs_that_somebody_opened_are_told_as_their_number(pages: Pages) -> None:
    await pages.visit("/form")
    for _ in range(50):
        await pages.session.owner.open("about:blank")
    title = await pages.js("document.title", tab=0)

    assert (title, pages.hint) == ("Form", "50 tabs were opened, 1 to 50.")
    assert len(await pages("GET tabs")) == 51


def test_a_request_that_has_the_page_match_a_selector_acts_and_one_that_reads_the_whole_does_not() -> None:
    assert HtmlRequest(selector="text=/(a+)+$/").acts == ("cdp",)
    assert PageScreenshotRequest(frame="iframe").acts == ("cdp",)
    assert WaitRequest(type="selector", selector="p").acts == ("cdp",)
    assert HtmlRequest().acts == WaitRequest(type="load").acts == FindTextRequest(keyword="a").acts == ()


def test_a_request_says_what_it_does_to_dialogs_and_for_how_long() -> None:
    assert (Acting().timeout, Acting().dialog) == (10, None)
    assert milliseconds(1.5) == 1500
    assert str(invalid("key", "there is none")) == "key: there is none"


@pytest.mark.parametrize("fields", [{"index": 0}, {"fullPage": True}, {"selector": "p"}, {"frame": "iframe"}])
def test_a_picture_for_which_the_page_is_moved_acts_and_one_of_what_is_to_be_seen_does_not(fields: dict[str, object]) -> None:
    page = {{"fullPage": "full_page"}.get(name, name): value for name, value in fields.items()}
    assert PageScreenshotRequest.model_validate(page).acts == ScreenshotCall.model_validate(fields).acts == ("cdp",)
    assert PageScreenshotRequest().acts == ScreenshotCall().acts == ()
